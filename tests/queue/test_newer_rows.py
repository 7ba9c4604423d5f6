"""Rows of a queue that a newer release wrote, or that are malformed: workers stop, and the sweep goes on."""

from __future__ import annotations

import pytest
from moto import mock_aws

from fanin.errors import NewerSchema
from fanin.queue import Effects, MemoryDoorbell, Options, Queue, QueueContext, QueueKey
from fanin.queue.administration import removing
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.maintenance.rounds import Listed
from fanin.queue.maintenance.sleeping import SETTLE_SECONDS
from tests.contract import golden
from tests.contract.queue.calls import LATER, QUEUE
from tests.queue.conftest import Duties, Recorded, Time

SENTENCE = "upgrade fanin in this process"
AFTER_ALL = LATER + 120_000_000


class Clock(Time):
    """The clocks of a process that looks after every row has become due."""

    def now(self) -> int:
        return AFTER_ALL + self.passed


@pytest.fixture
def store():
    with mock_aws():
        yield golden.queues()


def queue_on(store, **more):
    time = Clock()
    effects = Effects(now=time.now, monotonic=time.monotonic, pause=lambda _: None)
    duties = Duties(time)
    context = QueueContext(store, MemoryDoorbell(), QUEUE, Options(parts=1), effects=effects, **more)
    return Queue(context, background=duties.background()), duties


def make_newer(store, name):
    golden.put(store, "queue", golden.newer(golden.rows("queue")[name]))


def sessions_of(store, but):
    rows = golden.stored(store, "queue").values()
    return [row for row in rows if row["pk"]["S"].startswith("S#") and row["sk"]["S"] != but]


def make_newer_by_claim(store, claim):
    rows = golden.stored(store, "queue").values()
    (row,) = [row for row in rows if row.get("claim") == {"S": claim} and row["pk"]["S"].startswith("J#")]
    golden.put(store, "queue", golden.newer(row))


def states(store):
    rows = golden.stored(store, "queue").values()
    return {row["sk"]["S"]: row["st"]["S"] for row in rows if row["pk"]["S"].startswith("J#")}


def test_a_process_stops_at_a_newer_config_row_before_it_writes(store):
    make_newer(store, "config")
    before = golden.stored(store, "queue")
    queue, _ = queue_on(store)
    for use in (
        lambda: queue.add("new"),
        lambda: queue.take(1, 0, parts=[0]).__enter__(),
        queue.sweep,
        queue.depth,
    ):
        with pytest.raises(NewerSchema, match=SENTENCE):
            use()

    assert golden.stored(store, "queue") == before


def test_a_queue_with_a_newer_config_row_is_listed_for_the_sweep_whose_visit_says_so(store):
    make_newer(store, "config")

    assert Registry(store.client, store.table).last_visits([QUEUE]) == [Listed(QUEUE)]


def test_an_ack_of_a_job_that_became_newer_stops_and_returns_nothing(store):
    queue, _ = queue_on(store)

    def work():
        with queue.take(1, 0, parts=[0]) as jobs:
            make_newer_by_claim(store, jobs[0].claim)
            jobs.ack(jobs[0])

    with pytest.raises(NewerSchema, match=SENTENCE):
        work()

    row = golden.stored(store, "queue")[str({"pk": {"S": "J#tenant#orders#0000"}, "sk": {"S": "k#ready"}})]
    assert (row["st"]["S"], row["failures"]["N"]) == ("busy", "0")


def test_a_worker_that_meets_a_newer_session_takes_no_more_jobs(store, caplog):
    queue, duties = queue_on(store)
    with queue.take(1, 0, parts=[0]) as jobs:
        assert len(jobs) == 1
        make_newer(store, "session s1")
        beat, tick = duties.of[0]

        assert (beat.do(), tick.do()) == (True, False)
    assert f"the maintenance of queue {QUEUE} ends" in caplog.text
    with pytest.raises(NewerSchema, match=SENTENCE):
        queue.take(1, 0, parts=[0]).__enter__()


def test_a_worker_that_has_read_the_config_stops_within_a_heartbeat_of_its_newer_version(store):
    queue, duties = queue_on(store)
    with queue.take(1, 0, parts=[0]):
        make_newer(store, "config")
        duties.time.sleep(1)

        assert [duty.do() for duty in duties.of[0]] == [True, False]
    with pytest.raises(NewerSchema, match="the queue C#tenant#orders has schema version 99"):
        queue.take(1, 0, parts=[0]).__enter__()
    queue.close()

    assert "live" not in [row["st"]["S"] for row in sessions_of(store, but="s1")]


def copied(store, kind, name, without="", **attributes):
    """Put a copy of the golden row of *kind*, as the job *name*."""
    row = golden.rows("queue")[kind] | {"sk": {"S": f"k#{name}"}} | attributes
    row.pop(without, None)
    golden.put(store, "queue", row)


@pytest.mark.parametrize("kind", ["delayed", "busy"])
def test_a_newer_job_does_not_keep_the_others_from_being_promoted_and_freed(store, caplog, kind):
    """The sessions of the claims are gone."""
    copied(store, f"job {kind}", "a")
    make_newer(store, f"job {kind}")
    copied(store, f"job {kind}", "z")
    queue, _ = queue_on(store)
    queue.sweep()

    assert [states(store)[name] for name in ("k#a", f"k#{kind}", "k#z")] == ["ready", kind, "ready"]
    assert SENTENCE in caplog.text


def test_a_malformed_job_keeps_neither_jobs_nor_outbox_entries_of_its_queue_waiting(store, caplog):
    gone = {"session": {"S": "gone"}, "ix": {"S": "1#gone#1772366405123456"}}
    copied(store, "job busy", "lost", **gone)
    copied(store, "job busy", "unclaimed", without="session", **gone)
    copied(store, "job delayed", "broken", without="job_id")
    reported = []
    queue, _ = queue_on(store, report=lambda entry: reported.append(entry.job_id))
    queue.sweep()
    found = states(store)

    assert [found[f"k#{name}"] for name in ("delayed", "lost", "unclaimed")] == ["ready"] * 3
    assert len(reported) == 2
    assert "k#broken cannot be read" in caplog.text


def test_a_dead_job_without_its_claim_does_not_keep_the_outbox_of_a_removed_queue_waiting(store):
    broken = golden.rows("queue")["dead: dead again"]
    del broken["claim"]
    golden.put(store, "queue", broken)
    reported = []
    queue, duties = queue_on(store, report=lambda entry: reported.append(entry.job_id))
    removing.begin(queue.context, force=True)
    duties.time.sleep(SETTLE_SECONDS)
    queue.sweep()

    assert (states(store), len(reported)) == ({}, 4)


def test_a_queue_of_nothing_but_a_row_that_cannot_be_read_does_not_fall_asleep(store):
    other = QueueKey(QUEUE.tenant, "others")
    copied(store, "job delayed", "broken", without="job_id", pk={"S": f"J#{other}#0000"})
    context = QueueContext(store, MemoryDoorbell(), other, Options(parts=1))
    context.config()
    Queue(context).sweep()

    assert context.read_config().idle_us is None


def test_a_session_that_cannot_be_read_fails_the_sweep_after_all_that_does_not_need_it(store):
    make_newer(store, "session s2")
    reported = []
    queue, _ = queue_on(store, report=lambda entry: reported.append(entry.job_id))
    with pytest.raises(NewerSchema, match="the session S#tenant#orders s2"):
        queue.sweep()

    assert (states(store)["k#delayed"], states(store)["k#busy"]) == ("ready", "busy")
    assert len(reported) == 2


def test_a_removal_waits_until_an_outbox_entry_of_a_newer_release_is_reported(store):
    name = "outbox: id-dead-1772366400123449"
    make_newer(store, name)
    reported = []
    queue, duties = queue_on(store, report=lambda entry: reported.append(entry.job_id))
    removing.begin(queue.context, force=True)
    duties.time.sleep(SETTLE_SECONDS)
    runs = [removing.proceed(queue.context, Recorded()) for _ in range(8)]
    remaining = {row["pk"]["S"][:2] for row in golden.stored(store, "queue").values()}

    assert (runs, remaining) == ([False] * 8, {"C#", "T#"})
    golden.put(store, "queue", golden.rows("queue")[name])
    assert [removing.proceed(queue.context, Recorded()) for _ in range(2)] == [False, True]
    assert len(reported) == 4
