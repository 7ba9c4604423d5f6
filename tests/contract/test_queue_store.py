"""What every store promises the work queue, each promise written once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import boto3
import pytest
from moto import mock_aws

from fanin.errors import StaleWrite
from fanin.queue import items, life, order
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.keys import PartKey, QueueKey, job_key
from fanin.queue.life import Fate
from fanin.queue.memory import MemoryStore
from fanin.queue.model import (
    Dead,
    GivenBack,
    Job,
    JobState,
    Member,
    NewJob,
    Rerun,
    Telling,
)
from fanin.queue.requests import PROJECTED
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table

NOW = 1_772_366_400_123_456
LATER = NOW + 5_000_000
QUEUE = QueueKey("tenant", "orders")
OTHER = QueueKey("tenant", "others")
PART = PartKey(QUEUE, 0)
PUT = {"Put": {"TableName": QUEUE_TABLE, "Item": {"pk": {"S": "user"}, "sk": {"S": "outcome"}}}}
GUARDED = {"Put": PUT["Put"] | {"ConditionExpression": "attribute_exists(pk)"}}


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[MemoryStore | DynamoStore]:
    if request.param == "memory":
        yield MemoryStore(admits=lambda write: "ConditionExpression" not in write["Put"])
        return
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_queue_table(client)
        yield DynamoStore(client, QUEUE_TABLE)


def outcomes(store) -> int:
    """How often the user's write is there."""
    if isinstance(store, MemoryStore):
        return len(store.written)
    key = {"pk": {"S": "user"}, "sk": {"S": "outcome"}}
    return len(store.client.get_item(TableName=QUEUE_TABLE, Key=key).keys() & {"Item"})


def new(name: str = "käy 🎈", at: int = NOW, over: Job | None = None, **more) -> Job:
    wish = NewJob(name, **{"payload": "{}", **more})
    return life.born(wish, job_key(QUEUE, 1, name), f"id-{name[:20]}-{at}", at, over)


def added(store, name: str = "a", at: int = NOW, **more) -> Job:
    job = new(name, at, **more)

    assert store.add(job, None) == job
    return job


def head(store, at: int = 0):
    return store.ready(PART, 100)[at]


def taken(store, claim: str = "c1", session: str = "s1", at: int = LATER, **more) -> Job:
    added(store, **more)
    return store.claim(head(store), session, claim, at)


def done(store, **more) -> Job:
    return store.end(taken(store, **more), LATER)


def test_the_first_number_of_parts_stays(store):
    assert [store.configure(QUEUE, 4), store.configure(QUEUE, 8), store.configure(OTHER, 8)] == [4, 4, 8]


@pytest.mark.parametrize("more", [{}, {"priority": 7, "delay": 1.5, "item_id": "i", "payload": None}])
@pytest.mark.parametrize("name", ["a", "käy 🎈", "x" * 600])
def test_a_job_is_read_as_it_was_stored(store, name, more):
    job = added(store, name, **more)

    assert store.get(job.key) == job


def test_a_job_that_is_not_there_is_none(store):
    key = job_key(QUEUE, 1, "a")

    assert store.get(key) is None
    assert store.add(new("a"), over=new("a")) is None
    assert store.get(key) is None


@pytest.mark.parametrize("state", ["ready", "busy", "delayed"])
def test_a_live_job_refuses_another_of_its_key_and_is_shown(store, state):
    job = taken(store) if state == "busy" else added(store, delay=5 if state == "delayed" else 0)

    assert store.add(new("a", LATER), None) == job
    assert store.get(job.key).state == state


def test_a_done_job_leaves_a_mark_over_which_the_next_is_added(store):
    mark = done(store)

    assert (mark.state, mark.done_by, mark.done_us, mark.payload) == (JobState.DONE, "c1", LATER, None)
    assert store.get(mark.key) == mark
    assert store.add(new("a", LATER), None) == mark
    after = new("a", LATER, over=mark)

    assert store.add(after, mark) == after
    assert (after.generation, after.done_by) == (2, "c1")


def test_a_late_copy_of_an_add_finds_the_mark_and_adds_nothing(store):
    first = new("a")
    mark = done(store)

    assert store.add(first, None) == mark
    second = new("a", LATER, over=mark)
    store.add(second, mark)
    store.end(store.claim(head(store), "s1", "c2", LATER), LATER)

    assert store.add(second, mark).state is JobState.DONE


def test_ready_jobs_come_by_priority_then_by_time_and_only_so_many(store):
    for name, at, priority in (("a", 3, 0), ("b", 2, 0), ("c", 9, 5), ("d", 1, 0), ("e", 8, 5)):
        added(store, name, NOW + at, priority=priority)
    taken_one = store.claim(head(store), "s1", "c1", LATER)

    assert taken_one.name == "e"
    assert [store.get(entry.key).name for entry in store.ready(PART, 3)] == ["c", "d", "b"]
    assert [job.name for job in store.jobs(PART, JobState.READY, 10)] == ["c", "d", "b", "a"]


def test_many_ready_jobs_are_read_over_all_pages(store):
    for i in range(130):
        added(store, f"{i:03d}", NOW + i, payload="x" * 9_000)

    assert [job.name for job in store.jobs(PART, JobState.READY, 200)] == [f"{i:03d}" for i in range(130)]
    assert store.count(PART, JobState.READY) == 130
    assert len(store.jobs(PART, JobState.READY, 7)) == 7


def test_a_claim_makes_the_job_busy_and_counts_it(store):
    job = taken(store)

    assert (job.state, job.session, job.claim, job.claimed_us) == (JobState.BUSY, "s1", "c1", LATER)
    assert (job.deliveries, job.queued_us, job.payload) == (1, LATER - NOW, "{}")
    assert store.get(job.key) == job
    assert store.ready(PART, 10) == []
    assert store.jobs(PART, JobState.BUSY, 10) == [job]


def test_a_job_is_claimed_once_and_a_repeated_claim_is_answered_again(store):
    added(store)
    seen = head(store)
    first = store.claim(seen, "s1", "c1", LATER)

    assert store.claim(seen, "s2", "c2", LATER) is None
    assert store.claim(seen, "s1", "c1", LATER) == first


def test_a_late_copy_of_a_claim_takes_nothing_that_came_back(store):
    added(store)
    seen = head(store)
    store.give_back(life.entry_of(store.claim(seen, "s1", "c1", LATER)), GivenBack(LATER))

    assert store.claim(seen, "s1", "c1", LATER) is None
    assert store.get(seen.key).state is JobState.READY


def test_a_returned_job_has_its_old_place_and_its_metrics(store):
    job = taken(store, at=LATER)
    added(store, "b", NOW + 1)

    assert store.give_back(life.entry_of(job), GivenBack(LATER + 7, failed=True))
    back = store.get(job.key)

    assert head(store).key == job.key
    assert (back.failures, back.busy_us, back.ready_us, back.claim) == (1, 7, LATER + 7, None)


def test_a_returned_job_waits_where_it_is_told_to(store):
    job = taken(store)
    store.give_back(life.entry_of(job), GivenBack(LATER, failed=True, due_us=LATER + 9))
    (delayed,) = store.jobs(PART, JobState.DELAYED, 10)

    assert (delayed.state, delayed.ready_us, delayed.failures) == (JobState.DELAYED, LATER + 9, 1)
    assert store.ready(PART, 10) == []
    assert store.outstanding(PART, LATER + 8) == []
    assert [entry.job_id for entry in store.outstanding(PART, LATER + 9)] == [job.id]


def test_only_the_claim_returns_a_job(store):
    job = taken(store)

    assert not store.give_back(replace(life.entry_of(job), claim="c2"), GivenBack(LATER))
    assert store.get(job.key) == job
    store.end(job, LATER)

    assert not store.give_back(life.entry_of(job), GivenBack(LATER))
    assert store.get(job.key).state is JobState.DONE


def test_returning_a_job_that_is_not_there_creates_none(store):
    job = replace(new("a"), state=JobState.BUSY, session="s", claim="c", claimed_us=NOW)

    assert not store.give_back(life.entry_of(job), GivenBack(LATER))
    assert store.get(job.key) is None


def test_an_ended_job_is_in_no_listing_and_keeps_its_metrics(store):
    mark = done(store)

    assert [store.count(PART, state) for state in (JobState.READY, JobState.BUSY, JobState.DELAYED)] == [
        0
    ] * 3
    assert store.outstanding(PART, LATER) == []
    assert (mark.deliveries, mark.queued_us, mark.busy_us) == (1, LATER - NOW, 0)


def test_an_end_that_is_repeated_is_known_as_ones_own(store):
    job = taken(store)
    store.end(job, LATER, [PUT])
    again = store.end(job, LATER + 1, [PUT])

    assert life.fate(again, job) is Fate.ENDED
    assert outcomes(store) == 1


def test_an_end_is_known_as_ones_own_when_the_key_has_its_next_job(store):
    job = taken(store)
    mark = store.end(job, LATER)
    store.add(new("a", LATER, over=mark), mark)

    assert life.fate(store.end(job, LATER), job) is Fate.ENDED


def test_an_end_under_a_lost_claim_writes_nothing(store):
    job = taken(store)
    store.give_back(life.entry_of(job), GivenBack(LATER))
    other = store.claim(head(store), "s2", "c2", LATER)

    for writes in ([PUT], []):
        assert life.fate(store.end(job, LATER, writes), job) is Fate.LOST
    assert store.get(job.key) == other
    assert outcomes(store) == 0


def test_an_end_where_nothing_is_stored_creates_nothing(store):
    job = replace(new("a"), state=JobState.BUSY, session="s", claim="c", claimed_us=NOW)

    assert store.end(job, LATER) is None
    assert store.end(job, LATER, [PUT]) is None
    assert store.get(job.key) is None
    assert outcomes(store) == 0


def test_an_end_and_the_users_writes_happen_together(store):
    job = taken(store)
    mark = store.end(job, LATER, [PUT])

    assert store.get(job.key) == mark
    assert mark.state is JobState.DONE
    assert outcomes(store) == 1


def test_a_users_condition_that_fails_leaves_the_claim(store):
    job = taken(store)

    with pytest.raises(StaleWrite):
        store.end(job, LATER, [GUARDED])
    assert store.get(job.key) == job
    assert outcomes(store) == 0


def test_a_dead_job_leaves_its_key_and_is_listed_by_its_death(store):
    for name, died in (("a", LATER + 2), ("b", LATER + 1)):
        job = taken(store, name=name)
        store.end(job, LATER, dead=Dead(job, "boom", died))
    found = store.dead(QUEUE, 10)

    assert [(dead.job.name, dead.error, dead.died_us) for dead in found] == [
        ("b", "boom", LATER + 1),
        ("a", "boom", LATER + 2),
    ]
    assert [store.get(dead.job.key).state for dead in found] == [JobState.DONE] * 2
    assert len(store.dead(QUEUE, 1)) == 1


def test_a_dead_job_is_read_as_it_died(store):
    job = taken(store, item_id="i", priority=3)
    dead = Dead(replace(job, failures=3), "boom", LATER)
    store.end(job, LATER, dead=dead)

    assert store.dead(QUEUE, 10) == [dead]


def test_a_dead_job_comes_back_once_in_its_old_place(store):
    job = taken(store)
    dead = Dead(replace(job, failures=3), "boom", LATER)
    mark = store.end(job, LATER, dead=dead)
    back = life.revived(dead, LATER, mark)

    assert store.revive(dead, back, mark) == back == store.get(job.key)
    assert (back.place, back.failures, back.generation) == (job.place, 0, 2)
    assert store.dead(QUEUE, 10) == []
    store.end(store.claim(head(store), "s", "c9", LATER), LATER)

    assert store.revive(dead, back, mark).state is JobState.DONE
    later = store.get(job.key)

    assert store.revive(dead, life.revived(dead, LATER, later), later) == later


def test_a_dead_job_does_not_come_back_over_a_live_one(store):
    job = taken(store)
    dead = Dead(job, "boom", LATER)
    mark = store.end(job, LATER, dead=dead)
    other = new("a", LATER, over=mark)
    store.add(other, mark)

    assert store.revive(dead, life.revived(dead, LATER, mark), mark) == other
    assert store.dead(QUEUE, 10) == [dead]


def test_collisions_are_counted_on_the_live_job_alone(store):
    job = taken(store)
    store.collide(job)
    store.collide(replace(job, id="another"))

    assert store.get(job.key).collisions == 1
    mark = store.end(job, LATER)
    store.collide(job)

    assert mark.collisions == store.get(job.key).collisions == 1


def test_a_run_asked_for_while_busy_follows_the_end(store):
    job = taken(store)
    rerun = Rerun("id-2", LATER, 5, "new", "item")

    assert store.rerun(job, rerun).rerun == rerun
    asked = store.get(job.key)

    assert life.fate(store.end(job, LATER), job) is Fate.HELD
    after = store.end(asked, LATER + 1)

    assert after == store.get(job.key)
    assert (after.id, after.state, after.payload, after.item_id) == ("id-2", JobState.READY, "new", "item")
    assert (after.priority, after.generation, after.done_by, after.deliveries) == (5, 2, "c1", 0)
    assert life.fate(store.end(job, LATER), job) is Fate.ENDED


def test_a_newer_wish_replaces_the_run_asked_for_and_an_older_one_does_not(store):
    job = taken(store)
    first, second = Rerun("id-2", LATER, 0, "first", "i"), Rerun("id-3", LATER, 0)
    asked = store.rerun(job, first)

    assert store.rerun(job, second).rerun == first
    assert store.rerun(asked, second).rerun == second
    assert store.rerun(asked, first).rerun == second
    assert store.get(job.key).rerun == second


def test_a_run_is_asked_for_of_a_busy_job_alone(store):
    job = added(store)

    assert store.rerun(job, Rerun("id-2", LATER, 0)) == job
    assert store.get(job.key) == job


def test_a_job_that_failed_keeps_the_run_asked_for(store):
    job = taken(store)
    asked = store.rerun(job, Rerun("id-2", LATER, 0))
    store.give_back(life.entry_of(asked), GivenBack(LATER, failed=True))

    assert store.get(job.key).rerun == asked.rerun


def test_a_delayed_job_is_promoted_once_it_was_seen_due(store):
    job = added(store, delay=1)
    (seen,) = store.outstanding(PART, NOW + 1_000_000)

    assert not store.promote(replace(seen, ix=order.delayed(NOW)), LATER)
    assert store.promote(seen, LATER)
    assert not store.promote(seen, LATER)
    ready = store.get(job.key)

    assert (ready.state, ready.ready_us, head(store).ix) == (JobState.READY, LATER, job.place)


def test_the_index_has_all_that_an_entry_needs(store):
    job = taken(store)
    item = items.job_item(job)
    row = {name: item[name] for name in ("pk", "sk", "ix", *PROJECTED)}

    assert items.entry_of(row, PART) == life.entry_of(job) == store.outstanding(PART, LATER)[0]


def test_claims_are_found_by_their_session(store):
    for i in range(3):
        added(store, f"j{i}", NOW + i)
    jobs = [store.claim(head(store), f"s{i % 2}", f"c{i}", LATER + i) for i in range(3)]

    assert [entry.claim for entry in store.claims_of(PART, "s0")] == ["c0", "c2"]
    assert store.claims_of(PART, "s") == []
    assert list(store.outstanding(PART, LATER)) == [life.entry_of(jobs[i]) for i in (0, 2, 1)]


def test_parts_and_queues_do_not_see_each_other(store):
    added(store)

    assert store.ready(PartKey(QUEUE, 1), 10) == []
    assert store.ready(PartKey(OTHER, 0), 10) == []


def test_what_is_to_be_told_is_kept_until_it_was_told(store):
    store.end(taken(store, item_id="item-1"), LATER)
    job = taken(store, name="b", item_id="item-2")
    store.end(job, LATER, [PUT], None)
    found = sorted(store.tellings(QUEUE), key=lambda telling: telling.item_id)

    assert [(telling.item_id, telling.failed) for telling in found] == [("item-1", False), ("item-2", False)]
    store.told(QUEUE, replace(found[0], failed=True))
    store.told(QUEUE, found[1])
    store.told(QUEUE, found[1])

    assert store.tellings(QUEUE) == [found[0]]


def test_the_death_of_a_job_is_to_be_told_as_a_failure(store):
    job = taken(store, item_id="item-1")
    store.end(job, LATER, dead=Dead(job, "boom", LATER))

    assert store.tellings(QUEUE) == [Telling(job.id, "item-1", failed=True)]


@pytest.fixture
def member() -> Member:
    return Member("s1", True, LATER, 5_000_000, "host", 42, NOW)


def test_a_session_is_read_as_it_was_stored(store, member):
    visitor = replace(member, id="s2", beats=False)
    store.enter(QUEUE, member)
    store.enter(QUEUE, visitor)
    store.enter(OTHER, replace(member, id="s3"))

    assert sorted(store.members(QUEUE), key=lambda m: m.id) == [member, visitor]


def test_a_heartbeat_moves_a_live_session_alone(store, member):
    assert not store.beat(QUEUE, "s1", LATER)
    assert store.members(QUEUE) == []
    store.enter(QUEUE, member)

    assert store.beat(QUEUE, "s1", LATER + 1)
    assert store.members(QUEUE) == [replace(member, heartbeats=1, expires_us=LATER + 1)]


def test_a_dead_session_never_beats_again(store, member):
    store.enter(QUEUE, member)

    assert store.end_session(QUEUE, "s1", 0)
    assert not store.beat(QUEUE, "s1", LATER + 1)
    store.enter(QUEUE, member)

    assert store.members(QUEUE) == [replace(member, live=False)]


def test_a_session_that_beat_meanwhile_is_not_ended(store, member):
    store.enter(QUEUE, member)
    store.beat(QUEUE, "s1", LATER)

    assert not store.end_session(QUEUE, "s1", 0)
    assert store.members(QUEUE)[0].live
    assert store.end_session(QUEUE, "s1", 1)
    assert store.end_session(QUEUE, "s1", 1)


def test_a_session_leaves_whatever_its_heartbeat_and_one_that_is_gone_has_left(store, member):
    store.enter(QUEUE, member)
    store.beat(QUEUE, "s1", LATER)

    assert store.end_session(QUEUE, "s1", None)
    assert store.end_session(QUEUE, "unknown", None)
    assert len(store.members(QUEUE)) == 1


def test_only_a_dead_session_is_forgotten(store, member):
    store.enter(QUEUE, member)
    store.forget(QUEUE, "s1")

    assert store.members(QUEUE) == [member]
    store.end_session(QUEUE, "s1", None)
    store.forget(QUEUE, "s1")
    store.forget(QUEUE, "s1")

    assert store.members(QUEUE) == []
