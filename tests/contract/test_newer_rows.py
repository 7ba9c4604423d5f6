"""A row of a newer schema version is neither read nor written, whichever call of a store meets it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import NewerSchema
from fanin.grouper import BundleState, Lane, Lease, TaskState
from fanin.grouper.rules.model import BundleKey, TaskKey
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import JobKey
from fanin.queue.rules.model import GivenBack, JobState, Rerun
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import BatchKey, Group, Outcome, PageKey, Progress, Receipt, State
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.rules.thresholds import Reached
from fanin.tracker.store import Replacement
from tests.contract import engines, golden
from tests.contract.grouper.calls import LANE, LATER, NOW, empty, task
from tests.contract.queue import calls as queueing
from tests.contract.queue_table import QUEUE_TABLE

SENTENCE = r"has schema version 99, and this process reads versions up to 1: upgrade fanin in this process"


@pytest.fixture(autouse=True)
def aws():
    with engines.emptied():
        yield


# Tracker: the batch's row.

KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")
LEAF = PageKey(KEY, 0, 0)
FAILING = Replacement(LEAF, Page(), PageMasks(failure=1), fills=False)
RECEIPT = Receipt("new", 9, 1)
HALF = Reached(Threshold.HALF, NOW, Progress(1, 0, 1, 1, exact=True), 2)


@pytest.fixture
def tracker():
    """A store whose first batch, and both idempotency keys, are of a newer release; and that batch."""
    store = golden.trackers()
    batch = store.get(KEY)
    for name in ("parent: batch", "key of an open", "key of a close"):
        golden.put(store, "batches", golden.newer(golden.rows("batches")[name]))
    return store, batch


TRACKER_RAISES = {
    "get": lambda s, _: s.get(KEY),
    "create": lambda s, b: s.create(b),
    "transition": lambda s, _: s.transition(KEY, Transition(State.CANCELLED, NOW, LATER, LATER)),
    "extend": lambda s, b: s.extend(KEY, b.expires_at + timedelta(days=1), LATER),
    "record_ack_time": lambda s, _: s.record_ack_time(KEY, LATER),
    "named": lambda s, _: s.named("tenant", "open-1"),
    "create_under": lambda s, b: s.create_under(replace(b, batch_id="b"), "open-1", None),
    "delete": lambda s, b: s.delete(b, LATER),
    "create_reopened": lambda s, b: s.create_reopened(
        replace(b, batch_id="b"), Group("g", 1), None, "open-1", None
    ),
    "remember": lambda s, _: s.remember("tenant", "close", "key-1", "f", NOW, LATER),
    "listing": lambda s, _: s.listing(Query(tenant="tenant", shard=1, limit=10)),
}
TRACKER_WRITES_NOTHING = {
    "reserve": lambda s, b: s.reserve(b, RECEIPT, Group("g", 1)),
    "postpone": lambda s, b: s.postpone(b, NOW),
    "add_bits of failures": lambda s, _: s.add_bits(LEAF, PageMasks.of(1, Outcome.FAILURE), LATER),
    "replace_pages": lambda s, _: s.replace_pages([FAILING], LATER),
    "heal_bits": lambda s, _: s.heal_bits(LEAF, 1),
    "report": lambda s, b: s.report(b, HALF),
}


@pytest.mark.parametrize("name", TRACKER_RAISES)
def test_each_call_of_the_tracker_s_store_raises_and_writes_nothing(tracker, name):
    store, batch = tracker
    before = golden.stored(store, "batches")
    with pytest.raises(NewerSchema, match=SENTENCE):
        TRACKER_RAISES[name](store, batch)

    assert golden.stored(store, "batches") == before


@pytest.mark.parametrize("name", TRACKER_WRITES_NOTHING)
def test_a_write_to_a_newer_batch_with_a_batch_of_before_changes_nothing(tracker, name):
    store, batch = tracker
    before = golden.stored(store, "batches"), golden.stored(store, "pages")
    TRACKER_WRITES_NOTHING[name](store, batch)

    assert (golden.stored(store, "batches"), golden.stored(store, "pages")) == before


# Work queue: the row of each job, record and session, and the config row.


@pytest.fixture
def queue():
    """A store with one row of each kind, before any of them is newer."""
    return golden.queues()


def entry(store, name):
    """Return the entry of a job as the index shows it: the index does not hold the version."""
    return lifecycle.entry_of(store.get(JobKey(queueing.PART, f"k#{name}")))


def job(store, name):
    return store.get(JobKey(queueing.PART, f"k#{name}"))


def again(name):
    return queueing.new(name, queueing.LATER)


QUEUE_RAISES = {
    "config": ("config", lambda s: lambda: s.config(queueing.QUEUE)),
    "create": ("config", lambda s: lambda: s.create(queueing.QUEUE, QueueConfig(1))),
    "reconfigure": ("config", lambda s: lambda: s.reconfigure(queueing.QUEUE, QueueConfig(2, revision=1))),
    "peek config": ("config", lambda s: lambda: s.peek_config(queueing.QUEUE)),
    "count change": ("config", lambda s: lambda: s.count_change(queueing.QUEUE)),
    "get": ("job ready", lambda s: lambda: job(s, "ready")),
    "add to a ready job": ("job ready", lambda s: lambda: s.add(again("ready"), None)),
    "add to a done job": ("job done", lambda s: _over(s, "done")),
    "collide": ("job ready", lambda s: _with(job(s, "ready"), s.collide)),
    "rerun": ("job busy", lambda s: _with(job(s, "busy"), lambda seen: s.rerun(seen, Rerun("r", 1, 0)))),
    "claim": ("job ready", lambda s: _with(entry(s, "ready"), lambda seen: s.claim(seen, "s", "c", 1))),
    "give back": (
        "job busy",
        lambda s: _with(entry(s, "busy"), lambda seen: s.give_back(seen, GivenBack(1))),
    ),
    "end": ("job busy", lambda s: _with(job(s, "busy"), lambda seen: s.end(seen, 1))),
    "end with writes": ("job busy", lambda s: _with(job(s, "busy"), lambda seen: s.end(seen, 1, [WRITE]))),
    "promote": ("job delayed", lambda s: _with(entry(s, "delayed"), lambda seen: s.promote(seen, 1))),
    "jobs": ("job ready", lambda s: lambda: s.jobs(queueing.PART, JobState.READY, 10)),
    "dead": ("dead: dead", lambda s: lambda: s.dead(queueing.PART, 10)),
    "members": ("session s1", lambda s: lambda: s.members(queueing.QUEUE)),
    "some members": ("session s1", lambda s: lambda: s.some_members(queueing.QUEUE, ["s1"])),
    "peek": ("session s1", lambda s: lambda: s.peek(queueing.QUEUE, None)),
    "beat": ("session s1", lambda s: lambda: s.beat(queueing.QUEUE, "s1", 1)),
    "end session": ("session s1", lambda s: lambda: s.end_session(queueing.QUEUE, "s1", None)),
}
QUEUE_WRITES_NOTHING = {
    "revive": ("dead: dead", lambda s: _revival(s, "dead")),
    "forget": ("session s2", lambda s: lambda: s.forget(queueing.QUEUE, "s2")),
    "delete outbox entry": (
        "outbox: id-dead-1772366400123449",
        lambda s: _with(s.outbox(queueing.PART)[0], lambda seen: s.delete_outbox_entry(queueing.QUEUE, seen)),
    ),
}
WRITE = {"Put": {"TableName": QUEUE_TABLE, "Item": {"pk": {"S": "user's"}, "sk": {"S": "row"}}}}


def _with(seen, call):
    """Return *call* with what was read before the row became newer."""
    return lambda: call(seen)


def _over(store, name):
    mark = job(store, name)
    return lambda: store.add(queueing.new(name, queueing.LATER, over=mark), mark)


def _revival(store, name):
    dead = next(each for each in store.dead(queueing.PART, 10) if each.job.name == name)
    mark = job(store, name)
    return lambda: store.revive(dead, lifecycle.revived(dead, queueing.LATER, mark, "r"), mark)


@pytest.mark.parametrize("name", QUEUE_RAISES)
def test_each_call_of_the_queue_s_store_raises_and_writes_nothing(queue, name):
    kind, prepared = QUEUE_RAISES[name]
    call = prepared(queue)
    golden.put(queue, "queue", golden.newer(golden.rows("queue")[kind]))
    before = golden.stored(queue, "queue")
    with pytest.raises(NewerSchema, match=SENTENCE):
        call()

    assert golden.stored(queue, "queue") == before


@pytest.mark.parametrize("name", QUEUE_WRITES_NOTHING)
def test_a_write_that_returns_no_row_changes_nothing(queue, name):
    kind, prepared = QUEUE_WRITES_NOTHING[name]
    call = prepared(queue)
    golden.put(queue, "queue", golden.newer(golden.rows("queue")[kind]))
    before = golden.stored(queue, "queue")
    call()

    assert golden.stored(queue, "queue") == before


def test_what_the_sweep_lists_leaves_out_a_newer_row_and_logs_it(queue, caplog):
    golden.put(queue, "queue", golden.newer(golden.rows("queue")["outbox: id-dead-1772366400123449"]))

    assert [entry.job_id for entry in queue.outbox(queueing.PART)] == ["id-dead again-1772366400123449"]
    assert "T#tenant#orders#+0000 c3#k#dead" in caplog.text
    assert "upgrade fanin in this process" in caplog.text


@pytest.mark.parametrize("broken", [{}, {"deliveries": {"S": "many"}}, {"st": {"S": "unknown"}}])
def test_a_malformed_job_is_left_out_of_what_the_sweep_lists(queue, caplog, broken):
    row = golden.rows("queue")["job delayed"]
    row = {name: value for name, value in row.items() if name != "job_id"} | broken
    golden.put(queue, "queue", row | {"sk": {"S": "k#broken"}})
    found = queue.outstanding(queueing.PART, queueing.LATER + 60_000_000)

    assert [entry.key.sort for entry in found] == ["k#busy", "k#delayed"]
    assert "J#tenant#orders#0000 k#broken cannot be read" in caplog.text


# Group-batcher: the row of each task, bundle and lease.

OPEN, BUNDLED = TaskKey("tenant", "open"), TaskKey("tenant", "bundled")
FILLING = BundleKey("tenant", "1b57b661-16c2-576c-92a6-43df35dc0273")
BUCKET = Lane("tenant", "search", "rate")
RELEASED = Lane("tenant", "search", "1")


def _settled(store):
    wanted = replace(store.task(BUNDLED), state=TaskState.SUCCEEDED)
    return lambda: store.settle(wanted, FILLING.bundle_id)


GROUPER_RAISES = {
    "create": ("tasks", "open", lambda s: lambda: s.create(task("open"))),
    "task": ("tasks", "open", lambda s: lambda: s.task(OPEN)),
    "tasks": ("tasks", "open", lambda s: lambda: s.tasks([OPEN, BUNDLED])),
    "settle": ("tasks", "bundled", _settled),
    "lease": ("leases", str(LANE), lambda s: lambda: s.lease(LANE)),
    "put a first lease": ("leases", str(LANE), lambda s: lambda: s.put_lease(None, Lease(LANE, 1, "m", NOW))),
    "put a lease": (
        "leases",
        str(LANE),
        lambda s: _with(s.lease(LANE), lambda seen: s.put_lease(seen, seen.released())),
    ),
    "full at": ("leases", str(BUCKET), lambda s: lambda: s.full_at(BUCKET)),
    "put full at": (
        "leases",
        str(BUCKET),
        lambda s: _with(s.full_at(BUCKET), lambda seen: s.put_full_at(BUCKET, seen, LATER)),
    ),
    "bundle": ("bundles", "fence 7", lambda s: lambda: s.bundle(FILLING)),
    "seal": ("bundles", "fence 7", lambda s: _with(s.bundle(FILLING), s.seal)),
    "seal blindly": ("bundles", "fence 7", lambda s: lambda: s.seal(empty(7))),
    "replace": (
        "bundles",
        "fence 7",
        lambda s: _with(s.bundle(FILLING).transition(BundleState.READY), s.replace_bundle),
    ),
    "claim for a newer bundle": (
        "bundles",
        "fence 7",
        lambda s: _with(s.bundle(FILLING).joined(("open",)), lambda joined: s.claim(joined, ("open",))),
    ),
}


@pytest.mark.parametrize("name", GROUPER_RAISES)
def test_each_call_of_the_group_batcher_s_store_raises_and_writes_nothing(name):
    store = golden.groupers()
    table, kind, prepared = GROUPER_RAISES[name]
    call = prepared(store)
    golden.put(store, table, golden.newer(golden.rows(table)[kind]))
    before = [golden.stored(store, each) for each in ("tasks", "bundles", "leases")]
    with pytest.raises(NewerSchema, match=SENTENCE):
        call()

    assert [golden.stored(store, each) for each in ("tasks", "bundles", "leases")] == before


def test_a_newer_task_is_refused_by_a_claim_and_the_others_of_its_lane_are_not(caplog):
    store = golden.groupers()
    store.create(task("other"))
    golden.put(store, "tasks", golden.newer(golden.rows("tasks")["open"]))
    bundle = empty(11)
    claim = store.claim(bundle.joined(("open", "other")), ("open", "other"))

    assert (claim.bundle, claim.refused) == (None, frozenset({"open"}))
    assert "tenant#open" in caplog.text
    assert golden.stored(store, "tasks")["{'pk': {'S': 'tenant#open'}}"]["state"] == {"S": "CREATED"}
