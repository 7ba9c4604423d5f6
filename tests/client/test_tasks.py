"""Tasks as a user registers and watches them."""

from __future__ import annotations

import pytest

from fanin import Fanin, InvalidRequest, KeyReused, NotFound
from fanin.client.direct import DirectTransport
from fanin.grouper import Grouper, World
from fanin.grouper.memory import MemoryStore
from functions.wiring import grouping
from tests.client.conftest import lost_after


class Outbox:
    """Discard the message."""

    def send(self, postings):
        """Nothing."""


@pytest.fixture(autouse=True)
def grouper(monkeypatch, tracker):
    made = Grouper(World(MemoryStore(), Outbox()))
    monkeypatch.setattr(grouping, "grouper", lambda: made)
    monkeypatch.setattr(grouping, "registering", lambda: made)
    return made


def test_a_task_arrives_with_all_that_was_said(over_http, grouper):
    item = over_http.open().add(1)[0]
    task = over_http.task("x", {"n": [1]}, task_id="a", priority=9, item_id=item)
    stored = grouper.task("t", "a")

    assert (task.task_id, task.state) == ("a", "CREATED")
    assert (stored.payload, stored.priority, stored.item_id) == ('{"n":[1]}', 9, item)


def test_a_task_is_watched_by_its_name(over_http):
    status = over_http.task_status(over_http.task("x", None).task_id)

    assert (status.target, status.state, status.has_ended, status.attempts) == ("x", "CREATED", False, 0)
    with pytest.raises(NotFound):
        over_http.task_status("unknown")


def test_a_lost_answer_does_not_make_two_tasks(over_http, service, grouper):
    service.faults.append(lost_after)
    over_http.task("x", 1)

    assert len(grouper.world.store.stored_tasks) == 1


def test_a_name_and_a_key_are_bound_to_their_request(over_http):
    over_http.task("x", 1, task_id="a")
    over_http.task("x", 1, key="k")

    with pytest.raises(KeyReused):
        over_http.task("x", 2, task_id="a")
    with pytest.raises(KeyReused):
        over_http.task("x", 2, key="k")


def test_the_tables_alone_take_no_tasks(tracker):
    direct = Fanin(DirectTransport(tracker, "t"))

    with pytest.raises(InvalidRequest):
        direct.task("x", 1)
    with pytest.raises(InvalidRequest):
        direct.task_status("a")
