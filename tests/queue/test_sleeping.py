"""What a sweep rings for and reports, and when a queue falls asleep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import NewJob, OutboxEntry
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.maintenance.sleeping import SETTLE_SECONDS, asleep, idle, observed, woken
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.lifecycle import entry_of
from fanin.queue.rules.model import JobState
from tests.item_ids import item_named
from tests.queue.conftest import KEY, Bench, unavailable


def sweep(bench):
    """Run the scheduled sweep; return its maintenance."""
    maintenance = Maintenance(bench.context)
    bench.forget()
    maintenance.sweep_queue(1)
    return maintenance


@pytest.mark.parametrize(("more_us", "rung"), [(-1, []), (0, []), (1, [(0, False, 0.0)])])
def test_a_ready_job_is_rung_for_again_once_it_has_waited_for_more_than_two_sweeps(bench, more_us, rung):
    bench.add("a")
    bench.time.passed += 10_000_000 + more_us
    sweep(bench)

    assert bench.bell.rung == rung


@pytest.mark.parametrize(("error", "tried"), [(StoreUnavailable("out of reach"), 1), (Conflict("no"), 2)])
def test_a_report_that_is_unavailable_ends_the_sweep_and_one_that_is_refused_does_not(bench, error, tried):
    entries = {n: OutboxEntry(n, n, False, None, n, 0) for n in "ab"}
    bench.store.real.outboxes = {KEY: dict(entries)}
    asked = []

    def report(entry):
        asked.append(entry.item_id)
        raise error

    maintenance = Maintenance(replace(bench.context, report=report))
    if tried == 1:
        with pytest.raises(StoreUnavailable):
            maintenance.sweep_queue(1)
    else:
        assert maintenance.sweep_queue(1)[1]

    assert asked == [*"ab"][:tried]
    assert bench.store.real.outboxes == {KEY: entries}


def test_a_due_job_that_the_sweep_promotes_is_rung_for(bench):
    bench.add("a", delay=1)
    bench.time.sleep(1)
    sweep(bench)

    assert bench.bell.rung == [(0, False, 0.0)]


def test_a_freed_job_is_popped_once_the_one_claimed_first_before_the_others(bench):
    jobs = []
    for name in "ab":
        jobs += bench.take(name)
        bench.time.sleep(1)
    maintenance = Maintenance(bench.context)
    maintenance.free_all([entry_of(job) for job in reversed(jobs)])

    freed = [entry for _ in range(3) for entry in maintenance.pop_freed(1)]
    assert [(entry.key, entry.ready_us) for entry in freed] == [(job.key, bench.time.now()) for job in jobs]
    assert {delay > 0 for *_, delay in bench.bell.rung} == {False, True}, "one may reach a frozen worker"


@pytest.mark.parametrize(("seconds", "popped"), [(9.9, 1), (10, 0)])
def test_a_freed_job_is_left_to_its_part_after_two_expiries(bench, seconds, popped):
    jobs, maintenance = bench.take("a"), Maintenance(bench.context)
    maintenance.free_all([entry_of(job) for job in jobs])
    bench.time.sleep(seconds)

    assert len(maintenance.pop_freed(9)) == popped


def test_a_worker_reports_what_waits_in_the_outbox_of_its_parts(bench):
    bench.add("a", item_id=item_named("i"))
    (job,) = bench.claims.take([0], 1)
    bench.claims.end(job)
    reported = []
    maintenance = Maintenance(replace(bench.context, report=reported.append), bench.session)
    maintenance.read_members()

    assert maintenance.tick() is True
    assert [entry.item_id for entry in reported] == [item_named("i")]


def test_jobs_of_a_session_that_died_without_freeing_them_are_freed_by_the_sweep(bench):
    (job,) = bench.take("a")
    bench.store.real.end_session(KEY, bench.session.id, None)
    Maintenance(bench.context).sweep([0])

    assert bench.stored(job).state is JobState.READY


def test_the_end_of_a_session_frees_its_claims_at_once(bench):
    (job,) = bench.take("a")
    Maintenance(bench.context)._end(bench.session.member)

    assert bench.stored(job).state is JobState.READY


def test_a_sweep_ends_at_once_where_the_store_is_unavailable(bench):
    bench.add("a", "b", delay=1)
    bench.time.sleep(2)
    bench.store.scripts["promote"] = unavailable
    with pytest.raises(StoreUnavailable):
        Maintenance(bench.context).sweep([0])

    assert len(bench.store.of("promote")) == 1


@pytest.mark.parametrize(("jobs", "seconds"), [("none", 20), ("live", 5), ("in doubt", 5)])
def test_a_worker_sweeps_its_parts_more_often_while_one_has_live_jobs_or_claims_in_doubt(jobs, seconds):
    bench = Bench(parts=2)
    if jobs != "none":
        (job,) = bench.take("a")
    if jobs == "in doubt":
        bench.claims.abandon(job)
        bench.store.real.stored.clear()
    maintenance = Maintenance(bench.context, bench.session)
    maintenance.read_members()
    maintenance.tick()
    bench.forget()
    while not bench.store.of("first"):
        bench.time.sleep(1)
        assert bench.session.beat()
        maintenance.tick()

    assert bench.time.monotonic() == seconds


KILLED, FROZEN, ALIVE = 0, 1, 2
AT = 1_000_000_000


def phase(queue) -> str:
    """The phase of a queue as its config is stored."""
    config = queue.context.store.config(KEY)
    if config.removing_us is not None:
        return "being removed"
    if config.asleep_us is not None:
        return "asleep"
    return "in use" if config.idle_us is None else "idle"


@pytest.fixture
def sleeping(queue, time):
    """A queue that fell asleep."""
    queue.context.config()
    for _ in range(2):
        visit(queue.context)
        time.sleep(SETTLE_SECONDS)
    visit(queue.context)
    assert phase(queue) == "asleep"
    return queue


@pytest.mark.parametrize(
    ("before", "in_use", "seconds", "after"),
    [
        ("in use", True, 0, "in use"),
        ("in use", False, 0, "idle"),
        ("idle", False, SETTLE_SECONDS - 1, "idle"),
        ("idle", False, SETTLE_SECONDS, "asleep"),
        ("idle", True, SETTLE_SECONDS, "in use"),
        ("asleep", False, 10**6, "asleep"),
        ("asleep", True, 0, "in use"),
    ],
)
def test_a_look_changes_the_phase(before, in_use, seconds, after):
    used = QueueConfig(8, revision=3, metrics=True)
    configs = {"in use": used, "idle": idle(used, AT), "asleep": asleep(idle(used, AT), AT)}
    now = AT + round(seconds * 1_000_000)
    found = observed(configs[before], in_use, now, SETTLE_SECONDS)

    assert (found.idle_us is None, found.asleep_us is None) == (after == "in use", after != "asleep")
    assert found == configs[before] or found.revision == configs[before].revision + 1
    assert (found.parts, found.metrics) == (8, True)


@pytest.mark.parametrize("config", [QueueConfig(8, removing_us=AT), QueueConfig(8, before=4)])
def test_a_queue_that_is_being_removed_or_raised_does_not_change_its_phase(config):
    assert observed(config, False, AT, 0) == observed(config, True, AT, 0) == config


def test_a_queue_with_an_entry_that_cannot_be_reported_stays_awake(make):
    def refuse(_entry):
        raise Conflict("refused")

    queue = make(report=refuse)
    queue.add(NewJob("a", item_id=item_named("i")))
    with queue.take():
        pass
    visit(queue.context)

    assert phase(queue) == "in use"


def test_an_end_that_moves_the_job_to_the_outbox_during_a_look_is_seen(make, store):
    queue, reads = make(), []
    queue.add(NewJob("a", item_id=item_named("i")))
    jobs = queue.take().__enter__()
    queue.context = replace(queue.context, report=None)

    def outbox(key):
        reads.append("outbox")
        return type(store).outbox(store, key)

    def first(part, limit):
        found = type(store).first(store, part, limit)
        if not reads:
            store.end(jobs[0], queue.context.effects.now())
        reads.append("part")
        return found

    store.outbox, store.first = outbox, first
    visit(queue.context)
    visit(queue.context)

    assert reads[:2] == ["part", "outbox"]
    assert phase(queue) == "in use"


def test_an_add_whose_outcome_is_unknown_wakes_the_queue(sleeping, make, store):
    other = make()
    other.context.cache.keep(woken(sleeping.context.config()), 10**9, other.context.effects.now())

    def add(job, over, check=None):
        type(store).add(store, job, over, check)
        raise StoreUnavailable("no answer")

    store.add = add
    with pytest.raises(StoreUnavailable):
        other.add("a")

    assert phase(sleeping) == "in use"


def test_an_add_to_a_queue_that_is_removed_at_the_same_time_asks_for_a_retry(queue, store, monkeypatch):
    queue.context.config()
    whole = store.add

    def add(*args):
        stored = whole(*args)
        store.configs[KEY] = replace(store.configs[KEY], removing_us=1, removed_us=2)
        return stored

    monkeypatch.setattr(store, "add", add)
    with pytest.raises(StoreUnavailable, match="was removed at the same time; retry"):
        queue.add("a")


def test_a_queue_is_in_use_as_long_as_one_of_its_parts_has_a_job(make, store, time):
    queue = make(parts=2)
    queue.add("a")
    for _ in range(3):
        depth = visit(queue.context)
        time.sleep(SETTLE_SECONDS)

    assert (store.config(KEY).idle_us, store.config(KEY).revision) == (None, 0)
    assert (depth.ready, depth.busy, depth.delayed, depth.dead) == (1, 0, 0, 0)


def test_an_add_to_a_sleeping_queue_that_others_always_change_asks_for_a_retry(sleeping, store, monkeypatch):
    pauses: list[int] = []
    sleeping.context = replace(
        sleeping.context, effects=replace(sleeping.context.effects, pause=pauses.append)
    )
    monkeypatch.setattr(store, "reconfigure", lambda key, _: store.config(key))
    with pytest.raises(StoreUnavailable, match="changes too often at the moment; retry"):
        sleeping.add("a")

    assert pauses == [*range(8)]
    assert store.stored == {}
