"""Pages of jobs: each job is on one page, in one order, however many share their key in the index."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanin.queue import Effects, MemoryDoorbell, QueueContext
from fanin.queue.administration import paging
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import PartKey
from fanin.queue.rules.model import Dead, JobState, Member
from fanin.queue.rules.order import IndexKey, IndexRange
from tests.contract.queue.calls import LATER, NOW, OTHER, PART, QUEUE, added, death_of, new, taken

ONE_BY_ONE = Effects(each=lambda call, values: [call(value) for value in values])
PAGES = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DELAYED = IndexRange("2#", "2$")


def context_of(store, queue=QUEUE, parts: int = 3) -> QueueContext:
    store.create(queue, QueueConfig(parts))
    return QueueContext(store, MemoryDoorbell(), queue, effects=ONE_BY_ONE)


def pages(read, limit: int):
    """All pages of a list, and how many there are."""
    found, last, count = [], None, 0
    while count < 20:
        page = read(limit, last)
        found += [row for _, row in page.jobs]
        count += 1
        if page.last is None:
            return found, count
        assert len(page.jobs) == limit
        last = page.last
    raise AssertionError("the pages do not end")


def in_part(queue, number: int, name: str, due: int):
    """A delayed job in a part of choice."""
    job = new(name)
    return replace(
        job,
        key=replace(job.key, part=PartKey(queue, number)),
        state=JobState.DELAYED,
        ready_us=due,
        payload=None,
    )


@PAGES
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12), st.integers(1, 5), st.integers()
)
def test_each_delayed_job_is_on_one_page_in_the_order_of_the_index(store, placed, limit, salt):
    queue = replace(QUEUE, name=f"q{abs(salt)}-{len(placed)}-{limit}-{abs(hash(tuple(placed)))}"[:80])
    context = context_of(store, queue)
    jobs = [in_part(queue, part, f"job {i}", NOW + due) for i, (part, due) in enumerate(placed)]
    for job in jobs:
        store.add(job, None)
    found, count = pages(lambda *page: paging.jobs(context, JobState.DELAYED, *page), limit)

    assert sorted(job.name for job in found) == sorted(job.name for job in jobs)
    assert [(job.ix, job.key.part.number) for job in found] == sorted(
        (job.ix, job.key.part.number) for job in jobs
    )
    assert count == max(1, -(-len(jobs) // limit))


@PAGES
@given(st.lists(st.integers(0, 1), max_size=8), st.integers(1, 4), st.integers())
def test_each_dead_job_is_on_one_page_the_longest_dead_first(store, died, limit, salt):
    queue = replace(QUEUE, name=f"d{abs(salt)}-{len(died)}-{limit}-{abs(hash(tuple(died)))}"[:80])
    context = context_of(store, queue)
    for i, at in enumerate(died):
        job = replace(new(f"job {i}"), state=JobState.READY)
        job = replace(job, key=replace(job.key, part=PartKey(queue, i % 3)))
        store.add(job, None)
        (entry,) = [each for each in store.ready(job.key.part, 20) if each.key == job.key]
        busy = store.claim(entry, "s", f"c{i}", LATER)
        store.end(busy, LATER, dead=Dead(busy, "boom", LATER + at))
    found, _ = pages(lambda *page: paging.dead(context, *page), limit)

    assert sorted(dead.job.name for dead in found) == sorted(f"job {i}" for i in range(len(died)))
    assert [dead.died_us for dead in found] == sorted(LATER + at for at in died)


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("kind", ["delayed", "dead"])
def test_a_walk_whose_last_row_is_deleted_at_each_page_skips_and_repeats_none(store, kind, limit):
    """All rows are equal in the index, whose order among equals is not defined."""
    context, seen, last = context_of(store), [], None
    for number in range(12):
        job = in_part(QUEUE, number % 3, f"job {number}", NOW)
        store.add(job if kind == "delayed" else replace(job, state=JobState.READY), None)
    if kind == "dead":
        die_at_once(store, context)
    while last is not None or not seen:
        page = listed(context, kind, limit, last)
        seen += [name_of(each) for _, each in page.jobs]
        delete(store, page.jobs[-1][1])
        last = page.last

    assert sorted(seen) == sorted(f"job {number}" for number in range(12))


def listed(context, kind: str, limit: int, last):
    if kind == "dead":
        return paging.dead(context, limit, last)
    return paging.jobs(context, JobState.DELAYED, limit, last)


def name_of(each) -> str:
    return each.job.name if isinstance(each, Dead) else each.name


def delete(store, each) -> None:
    if isinstance(each, Dead):
        store.remove_dead(each)
    else:
        store.remove(each, [])


def die_at_once(store, context) -> None:
    for part in context.parts():
        for number, entry in enumerate(store.ready(part, 20)):
            job = store.claim(entry, "s", f"claim {number} of {part}", LATER)
            store.end(job, LATER, dead=Dead(job, "boom", LATER))


def test_a_job_that_changes_while_its_page_is_read_is_left_out(store, monkeypatch):
    context = context_of(store)
    for i in range(3):
        store.add(in_part(QUEUE, 0, f"job {i}", NOW), None)
    _, second, _ = store.job_keys(PART, DELAYED, 3)
    whole = type(store).jobs_at

    def claimed_meanwhile(self, keys):
        store.promote(store.first(PART, 1)[0], LATER)
        return whole(self, keys)

    monkeypatch.setattr(type(store), "jobs_at", claimed_meanwhile)
    page = paging.jobs(context, JobState.DELAYED, 2, None)

    assert [job.key.sort for _, job in page.jobs] == [second.sort]
    assert page.last.key == second


def test_a_range_ends_with_its_state(store):
    added(store, "ready")
    added(store, "delayed", delay=60)
    taken(store, name="busy", priority=9)

    keys = {state: store.job_keys(PART, paging.range_of(prefix, 0, None), 9) for state, prefix in PREFIXES}
    assert {state: [key.sort for key in found] for state, found in keys.items()} == {
        JobState.READY: ["k#ready"],
        JobState.BUSY: ["k#busy"],
        JobState.DELAYED: ["k#delayed"],
    }
    assert list(store.job_keys(replace(PART, queue=OTHER), DELAYED, 9)) == []


def test_a_range_has_the_rows_of_both_its_ends_and_no_more_than_its_limit(store):
    for number in range(4):
        added(store, f"job {number}", NOW + number)
    keys = list(store.job_keys(PART, IndexRange("0#", "0$"), 9))

    assert list(store.job_keys(PART, IndexRange(keys[1].ix, keys[2].ix), 9)) == keys[1:3]
    assert list(store.job_keys(PART, IndexRange("0#", "0$"), 3)) == keys[:3]


PREFIXES = list(paging.PREFIXES.items())


def test_jobs_and_dead_jobs_are_read_by_their_keys(store):
    job, gone = added(store, "a"), new("b")
    dead, mark = death_of(store, taken(store, name="c", priority=9))

    assert {each.name for each in store.jobs_at([job.key, gone.key, mark.key])} == {"a", "c"}
    asked = [(PART, "none"), (PART, dead.record), (replace(PART, number=1), dead.record)]
    assert list(store.dead_at(asked)) == [None, dead, None]
    assert list(store.dead_at([])) == list(store.jobs_at([])) == []


def test_sessions_are_read_in_the_order_of_their_ids(store):
    members = [Member(id_, True, LATER, 5_000_000, "host", 1, NOW) for id_ in ("c", "a", "b")]
    for member in members:
        store.enter(QUEUE, member)

    assert [each.id for each in store.members_after(QUEUE, None, 2)] == ["a", "b"]
    assert [each.id for each in store.members_after(QUEUE, "b", 2)] == ["c"]
    assert list(store.members_after(QUEUE, "c", 2)) == list(store.members_after(OTHER, None, 2)) == []


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_range_after_a_row_leaves_ties_of_later_partitions_in(number):
    row = paging.ListedRow(1, IndexKey("2#5", "k#a"))
    ranges = [IndexRange("2#5\0", "2$"), IndexRange("2#5", "2$", "k#a"), IndexRange("2#5", "2$")]

    assert paging.range_of("2#", number, row) == ranges[number]
