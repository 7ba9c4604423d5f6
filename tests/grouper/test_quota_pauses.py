"""How long a message over the quota is hidden, which messages are, and what is logged."""

from __future__ import annotations

import random

import pytest

from fanin.api.task_messages import new_task_of
from fanin.grouper.work.registrations import register_messages
from tests.grouper.conftest import TENANT
from tests.grouper.test_registering_many import message
from tests.grouper.test_registrations import ARN, delivered, over


@pytest.fixture
def hidden(bench):
    """Deliver messages over the quota and return what was hidden: (queue, pauses) of each request."""

    def deliver(*records):
        requests = []

        def hide(queue, pauses):
            requests.append((queue, dict(pauses)))

        register_messages(bench.grouper, TENANT, records, new_task_of, admit=over, hide=hide)
        return requests

    return deliver


@pytest.mark.parametrize(
    ("receives", "longest"),
    [(1, 60), (2, 120), (3, 240), (4, 480), (5, 960), (6, 1920), (7, 3600), (8, 3600), (1000, 3600)],
)
@pytest.mark.parametrize("share", [0.5, 1])
def test_a_pause_is_a_minute_doubled_with_each_receipt_up_to_an_hour(
    hidden, monkeypatch, receives, longest, share
):
    monkeypatch.setattr(random, "uniform", lambda low, high: {0.5: low, 1: high}[share])

    assert hidden(delivered("m", receives)) == [(ARN, {"r-m": longest * share})]


def test_a_message_without_a_receipt_handle_is_not_hidden(hidden):
    ((queue, pauses),) = hidden(message("m1"), delivered("m2", 1), message("m3"))

    assert (queue, list(pauses)) == (ARN, ["r-m2"])


def test_without_receipt_handles_nothing_is_hidden(hidden):
    assert hidden(message("m1")) == []


@pytest.mark.parametrize(
    ("records", "lines"),
    [
        ([delivered("bad", 1, nonsense=1)], [("ERROR", "message bad")]),
        (
            [delivered("bad", 1, nonsense=1), delivered("m1", 1), delivered("m2", 1)],
            [("ERROR", "message bad"), ("WARNING", "2 messages return to the queue: over")],
        ),
    ],
    ids=["malformed", "both"],
)
def test_a_malformed_message_is_not_logged_as_over_the_quota(hidden, caplog, records, lines):
    hidden(*records)
    logged = [(each.levelname, each.getMessage()) for each in caplog.records]

    assert len(logged) == len(lines)
    for (level, text), (wanted, start) in zip(logged, lines, strict=True):
        assert (level, text.startswith(start)) == (wanted, True)
