"""Today's code reads every row that 0.1 wrote, with the meaning that it had."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanin.grouper import BundleState, Lane, Lease, TaskState
from fanin.grouper.model import BundleKey, TaskKey
from fanin.grouper.model import Verdict as Answered
from fanin.queue.config import QueueConfig
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.keys import JobKey, PartKey, QueueKey
from fanin.queue.model import JobState, OutboxEntry, Rerun
from fanin.tracker import ListQuery, Mode, Retention, State, Tracker
from tests.contract import engines, golden
from tests.contract.queue_table import QUEUE_TABLE

OPENED = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
LATER_US = 1_772_366_405_123_456
QUEUE = QueueKey("tenant", "orders")
PART = PartKey(QUEUE, 0)
LANE = Lane("tenant", "search", "0")


@pytest.fixture(autouse=True)
def aws():
    with engines.emptied():
        yield


@pytest.fixture
def tracker():
    return Tracker(golden.trackers(), now=lambda: OPENED + 2 * MINUTE)


def batch_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def test_all_options_of_a_batch(tracker):
    batch = tracker.get("tenant", batch_id(2))

    assert (batch.state, batch.mode, batch.total) == (State.CLOSED, Mode.EXACT, 20)
    assert (batch.failed, batch.healed, batch.page_bits) == (1, 1, 8)
    assert (batch.user_key, batch.labels) == ("käy 🎈", {"a": "1"})
    assert (batch.expected_items, batch.max_failures) == (20, 5)
    assert batch.parent_item_id == f"{batch_id(1)}:00000000-0000-8000-8002-2cfb4fed6a31:0"
    assert batch.retention == Retention(DAY, 2 * DAY, 3 * DAY)
    assert (batch.created_at, batch.closed_at) == (OPENED, OPENED + MINUTE)
    assert batch.deadline_at == OPENED + 60 * MINUTE
    assert batch.salt == b"0123456789abcdef"


@pytest.mark.parametrize(
    ("number", "state", "fact"),
    [
        (1, State.OPEN, None),
        (3, State.COMPLETE, "acks:last"),
        (4, State.CANCELLED, "no longer wanted"),
        (5, State.OPEN, None),
        (6, State.TIMED_OUT, "deadline"),
        (7, State.CANCELLED, "no longer wanted"),
        (8, State.OPEN, None),
    ],
)
def test_each_state_of_a_batch(tracker, number, state, fact):
    batch = tracker.get("tenant", batch_id(number))

    assert (batch.state, batch.completed_by or batch.end_reason) == (state, fact)


def test_pages_receipts_groups_and_samples(tracker):
    batch = tracker.get("tenant", batch_id(2))
    progress = tracker.progress(batch)
    outstanding, failures = tracker.outstanding(batch).ranges, tracker.failures(batch).ranges

    assert (progress.acked, progress.failed) == (11, 1)
    assert [(part.first, part.last) for part in outstanding] == [(8, 8), (12, 19)]
    assert [(part.first, part.last) for part in failures] == [(10, 10)]
    assert [sample.reason for sample in tracker.samples(batch)] == ["boom"]
    assert tracker.add("tenant", batch_id(2), 20, key="add-2").groups[0].upto == 20
    assert tracker.progress(tracker.get("tenant", batch_id(5))).acked == 1


def test_the_keys_of_an_open_and_of_a_close(tracker):
    same = tracker.get("tenant", batch_id(2))
    at = OPENED + MINUTE

    assert tracker.store.named("tenant", "open-1") == same.batch_id
    assert tracker.store.remember("tenant", "close", "key-1", "other", at, at + DAY) == (
        "239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5"
    )
    assert tracker.store.announced(tracker.get("tenant", batch_id(3)).key)


def test_every_batch_is_listed_and_swept(tracker):
    listed = tracker.list("tenant", ListQuery()).batches
    tracker.now = lambda: OPENED + 60 * DAY
    done = tracker.sweep()

    assert sorted(batch.batch_id for batch in listed) == [batch_id(number) for number in range(1, 9)]
    assert (done.looked, done.failed) == (8, 0)
    assert (done.timed_out, done.expired) == (1, 3)


def test_a_config_row():
    store = golden.queues()
    registry = Registry(store.client, QUEUE_TABLE)

    assert store.create(QUEUE, QueueConfig(8)) == QueueConfig(1)
    assert store.config(QUEUE) == QueueConfig(1)
    assert list(registry.queues()) == [QUEUE]


def test_jobs_in_each_state():
    store = golden.queues()
    busy = store.get(JobKey(PART, "k#busy"))
    (ready,) = store.jobs(PART, JobState.READY, 10)

    assert (ready.name, ready.priority, ready.item_id, ready.payload) == ("ready", 5, "item", "{}")
    assert (busy.state, busy.session, busy.claim, busy.claimed_us) == (JobState.BUSY, "s1", "c1", LATER_US)
    assert busy.rerun == Rerun("again", LATER_US, 7, "{}", "item")
    assert store.get(JobKey(PART, "k#delayed")).ready_us == ready.added_us + 60_000_000
    assert store.get(JobKey(PART, "k#done")).done_by == "c2"
    assert [entry.job_id for entry in store.outstanding(PART, LATER_US + 60_000_000)] == [
        "id-busy-1772366400123447",
        "id-delayed-1772366400123456",
    ]


def test_dead_jobs_and_outbox_entries_in_both_forms_of_their_keys():
    store = golden.queues()
    dead = {each.job.name: each for each in store.dead(QUEUE, 10)}

    assert {name: each.keyed_by_id for name, each in dead.items()} == {"dead": False, "dead of 0.1": True}
    assert {each.error for each in dead.values()} == {"boom"}
    assert sorted(store.outbox(QUEUE), key=lambda entry: entry.job_id) == [
        OutboxEntry("id-dead of 0.1-1772366400123449", "item", True),
        OutboxEntry("id-dead-1772366400123449", "item", True, "boom", "c3#k#dead"),
    ]


def test_sessions():
    live, dead = golden.queues().members(QUEUE)

    assert (live.id, live.live, live.beats, live.heartbeats) == ("s1", True, True, 1)
    assert (dead.id, dead.live, dead.beats) == ("s2", False, False)
    assert (live.expires_us, live.expiry_us, live.host, live.pid) == (LATER_US + 9, 5_000_000, "host", 1)


def test_tasks_in_each_state():
    store = golden.groupers()
    names = {"open": "CREATED", "bundled": "BUNDLED", "ok": "SUCCEEDED", "failed": "FAILED"}
    tasks = store.tasks([TaskKey("tenant", name) for name in names])
    task = store.task(TaskKey("tenant", "open"))

    assert {each.task_id: each.state for each in tasks.values()} == {
        n: TaskState(s) for n, s in names.items()
    }
    assert (task.lane, task.priority, task.item_id, task.attempts) == (LANE, 5, "item", 2)
    assert task.payload == '{"käy":"🎈"}'
    assert [each.task_id for each in store.candidates(LANE, 10)] == ["open"]
    assert [each.task_id for each in store.open_tasks(None).rows] == ["open"]


def test_bundles_and_a_void():
    store = golden.groupers()
    keys = store.bundles_of(LANE, 10, None).rows
    done, filling = (store.bundle(key) for key in keys)
    void = store.bundle(BundleKey("tenant", "6c0e253a-e0e1-51dc-8785-6bf9a5b73777"))

    assert (filling.state, filling.members, filling.version) == (BundleState.OPEN, ("bundled",), 1)
    assert (done.state, done.members, done.attempt, done.owner) == (
        BundleState.DONE,
        ("ok", "failed"),
        1,
        "me",
    )
    assert [each.verdict for each in done.outcomes] == [Answered.OK, Answered.FAIL]
    assert void.is_void
    assert list(store.live(OPENED + DAY, "[3, null]").rows) == [filling.key]


def test_leases_and_rate_buckets():
    store = golden.groupers()
    later = datetime(2026, 3, 1, 13, 0, 0, 123456, tzinfo=UTC)

    assert store.lease(LANE) == Lease(LANE, 7, "me", later)
    assert store.lease(Lane("tenant", "search", "1")).holder is None
    assert store.full_at(Lane("tenant", "search", "rate")) == later
