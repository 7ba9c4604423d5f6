"""TTL deletes a row at its time, or days later, or never: no caller can see the difference."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import OpenBatch, Retention, Tracker
from fanin.tracker.rules.options import LIFETIME_MAX
from tests.tracker.calls import DAY, HOUR, START, ack, fail
from tests.tracker.metered import Metered

DELETIONS = {
    "early": lambda row: True,
    "pages late": lambda row: row[0] != "stored_pages",
    "keys late": lambda row: row[0] != "names",
    "batches late": lambda row: row[0] != "batches",
    "keys alone": lambda row: row[0] == "names",
    "never": lambda row: False,
}
"""Which rows are deleted as soon as their time has come."""


@pytest.fixture(params=DELETIONS)
def pass_to(request, tracker, clock):
    """Set the clock, and delete what TTL deletes by then."""

    def set_clock(at):
        clock.at = at
        tracker.store.delete_expired(at, DELETIONS[request.param])

    return set_clock


def test_a_key_is_found_in_few_requests_however_many_of_its_batches_are_over(clock):
    tracker = Tracker(Metered(), now=clock, pause=lambda _: None)
    for _ in range(40):
        tracker.open("t", OpenBatch(retention=Retention(open=HOUR)), key="hourly")
        clock.at += HOUR
    tracker.store.reset()
    tracker.open("t", OpenBatch(), key="hourly")

    assert tracker.store.calls.total() <= 4


def test_a_batch_loses_none_of_its_rows_while_it_can_be_read(tracker, pass_to):
    """The longest life that there is, to its last moment."""
    batch = tracker.open("t", OpenBatch(retention=Retention(150 * DAY, 100 * DAY, 150 * DAY)))
    group = tracker.add("t", batch.batch_id, 9, key="k").groups[0].id
    fail(tracker, batch.batch_id, group, 7)
    for days in range(0, 400, 20):
        pass_to(START + days * DAY)
        if tracker.get("t", batch.batch_id).is_alive:
            ack(tracker, batch.batch_id, group, days // 20)
        if days == 240:
            tracker.close("t", batch.batch_id, "closer")
    ended = tracker.get("t", batch.batch_id)
    pass_to(ended.expires_at - timedelta(milliseconds=1))

    assert ended.expires_at <= ended.pages_expire_at == START + LIFETIME_MAX
    assert tracker.get("t", batch.batch_id) == replace(ended)
    assert tracker.add("t", batch.batch_id, 9, key="k").groups[0].id == group
    assert tracker.progress(ended).acked == 9
