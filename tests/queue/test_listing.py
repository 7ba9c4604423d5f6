"""Lists of jobs, their depth and status, and requests to delete and to revive jobs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fanin.errors import Conflict, InvalidRequest, NotFound, StoreUnavailable
from fanin.queue import NewJob
from fanin.queue.administration import paging, removing
from fanin.queue.administration.changing import (
    Deletion,
    Revival,
    delete_dead,
    delete_jobs,
    revive_all,
    revive_some,
)
from fanin.queue.administration.counting import COUNTED_MAX, Estimate, depth_of, estimate
from fanin.queue.administration.describing import Activity, QueueStatus, describe, status_of
from fanin.queue.maintenance.sleeping import idle
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import PartKey, job_key, part_of
from fanin.queue.rules.model import Accuracy, Depth, JobState, PartLook
from fanin.queue.rules.row_texts import dead_id_of, record_of
from tests.item_ids import item_named
from tests.queue.conftest import KEY, Bench, fail, names


def dying(make, *jobs: str):
    """A queue of one part in which *jobs* died, one after the other."""
    queue = make(max_failures=1)
    for job in jobs:
        queue.add(job)
        fail(queue)
    return queue


def records(queue) -> list[paging.Record]:
    return [(row.number, row.key.sort) for row, _ in paging.dead(queue.context, 200, None).jobs]


def test_a_dead_job_that_is_gone_when_its_page_is_read_is_left_out(make, store, monkeypatch):
    queue = dying(make, "a", "b")
    whole = store.dead_at

    def one_less(rows):
        store.remove_dead(queue.dead()[0])
        return whole(rows)

    monkeypatch.setattr(store, "dead_at", one_less)
    page = paging.dead(queue.context, 10, None)

    assert [dead.job.name for _, dead in page.jobs] == ["b"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_record_of_a_part_that_the_queue_does_not_have_is_not_found(make, number):
    queue = dying(make, "a")
    ((known, sort),) = records(queue)

    assert known == 0
    assert list(paging.dead_at(queue.context, [(number, sort), (0, sort)])) == [(0, sort)]
    assert revive_some(queue, [(number, sort)]).outcomes == {(number, sort): Revival.NOT_FOUND}


def test_a_dead_job_that_another_request_revives_meanwhile_is_not_found(make, store, monkeypatch):
    queue, other = dying(make, "a"), make()
    (record,), (dead,) = records(queue), queue.dead()
    whole = store.dead_at

    def revived_after_the_read(rows):
        found = whole(rows)
        other.revive(dead)
        return found

    monkeypatch.setattr(store, "dead_at", revived_after_the_read)

    assert revive_some(queue, [record]).outcomes == {record: Revival.NOT_FOUND}
    assert names(queue.queued()) == ["a"]


def test_a_dead_job_stays_dead_while_its_key_has_a_live_one(make, store):
    queue = dying(make, "a")
    queue.add("a")
    (record,), (dead,) = records(queue), queue.dead()

    assert revive_some(queue, [record]).outcomes == {record: Revival.LIVE}
    assert records(queue) == [record]
    store.stored.clear()  # the job ended, and the table deleted its mark
    assert revive_some(queue, [record]).outcomes == {record: Revival.REVIVED}
    store.stored.clear()
    assert queue.revive(dead) is False


def test_a_request_revives_a_hundred_dead_jobs_and_names_the_row_after_which_there_are_more(make):
    jobs = [f"{number:03}" for number in range(101)]
    queue = dying(make, *jobs)
    known = records(queue)
    first = revive_all(queue)
    second = revive_all(queue, first.last)

    assert first.outcomes == dict.fromkeys(known[:100], Revival.REVIVED)
    assert (second.outcomes, second.last) == ({known[100]: Revival.REVIVED}, None)
    assert sorted(job.name for job in queue.queued(200)) == jobs


LISTS = ["queued", "in_progress", "delayed", "dead"]


def filled(make, state, jobs, parts=1):
    """A queue with so many *jobs* in a state."""
    queue = make(parts=parts, max_failures=1)
    queue.add_all(NewJob(f"{number:03d}", delay=60 * (state == "delayed")) for number in range(jobs))
    if state == "in_progress":
        queue.take(jobs, wait=0).__enter__()
    if state == "dead":
        fail(queue, jobs)
    return queue


@pytest.mark.parametrize("state", LISTS)
def test_a_limit_is_that_of_all_parts(make, state):
    listed = getattr(filled(make, state, 9, parts=2), state)

    assert len(listed(9)) == 9
    assert listed(2) == listed(9)[:2]


def test_a_part_with_a_row_that_cannot_be_read_is_counted_all_the_same(queue, store, monkeypatch):
    def broken(*_):
        raise ValueError("no such state")

    queue.add("a")
    monkeypatch.setattr(store, "first", broken)

    assert queue.depth().ready == 1


NONE = Depth(ready=0, busy=0, delayed=0, dead=0, oldest_us=0, accuracy=Accuracy.EXACT)


@pytest.mark.parametrize(
    ("times", "activity"),
    [
        ({}, Activity.IN_USE),
        ({"idle_us": 1}, Activity.IDLE),
        ({"idle_us": 1, "asleep_us": 2}, Activity.ASLEEP),
        ({"idle_us": 1, "asleep_us": 2, "removing_us": 3}, Activity.REMOVING),
        ({"removing_us": 3}, Activity.REMOVING),
    ],
)
def test_the_activity_of_a_queue_is_the_last_that_it_came_to(times, activity):
    assert QueueStatus("orders", QueueConfig(1, **times), NONE, 0).activity is activity


def test_a_queue_that_does_not_exist_has_no_status(queue):
    with pytest.raises(NotFound, match="queue 'orders' does not exist"):
        status_of(queue.context)
    assert describe(queue.context) is None


def spread(jobs: int, parts: int, seed: int = 1) -> list[int]:
    """The number of jobs of each part, by the hash of their keys."""
    rows = [0] * parts
    for number in range(jobs):
        rows[part_of(f"{seed} {number}".encode(), parts)] += 1
    return rows


def counted(rows: list[int]) -> tuple[Estimate, int]:
    """The estimate of the sum of *rows*, and the number of rows that were read for it."""
    read = []

    def count_of(size: int):
        def count(limit: int) -> int:
            read.append(min(size, limit))
            return read[-1]

        return count

    return estimate([count_of(size) for size in rows]), sum(read)


@pytest.mark.parametrize("rows", [[0] * 8, [COUNTED_MAX], [600] * 8, [0, 0, 5000, 0]], ids=str)
def test_a_number_up_to_the_bound_is_exact(rows):
    assert counted(rows)[0] == Estimate(sum(rows), Accuracy.EXACT)


@pytest.mark.parametrize("parts", [2, 8, 64, 256])
def test_a_larger_number_is_estimated_within_four_standard_deviations(parts):
    jobs = min(30_000, COUNTED_MAX * parts * 3 // 4)
    found, read = counted(spread(jobs, parts))

    assert found.accuracy is Accuracy.APPROXIMATE
    assert abs(found.jobs - jobs) <= 4 * math.sqrt(2 / COUNTED_MAX) * jobs
    assert read <= COUNTED_MAX + 1


@pytest.mark.parametrize("jobs", [10**6, 10**7])
def test_of_a_huge_number_it_is_known_how_many_there_are_at_least(jobs):
    found, read = counted([jobs // 8] * 8)

    assert found == Estimate(8 * COUNTED_MAX, Accuracy.AT_LEAST)
    assert read == COUNTED_MAX + 1


UNKNOWN, EMPTY = PartLook((), (), complete=False), PartLook((), (), complete=True)


def counted_in_raise(looks, before, **scripts):
    """The depth of a queue of two parts; *before*: their old number, if they are being raised."""
    bench = Bench(parts=2)
    config = bench.context.config()
    raised = replace(config, revision=1, before=before, phase=Phase.DRAINING if before else Phase.STEADY)
    bench.store.real.reconfigure(KEY, raised)
    bench.context.read_config()
    bench.store.scripts = scripts
    return depth_of(bench.context, looks)


def jobs_of(part: PartKey, limit: int) -> int:
    """3,000 jobs in the first part, and more than are counted_in_raise in the second."""
    return limit if part.number else 3000


@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize(
    ("before", "jobs", "accuracy"), [(None, 6000, Accuracy.APPROXIMATE), (1, 5000, Accuracy.AT_LEAST)]
)
def test_the_jobs_of_a_state_are_extrapolated_unless_the_parts_are_raised(before, jobs, accuracy, dead):
    if dead:
        depth = counted_in_raise([EMPTY, EMPTY], before, count_dead=jobs_of)
    else:
        depth = counted_in_raise([UNKNOWN, UNKNOWN], before, count=lambda part, _, most: jobs_of(part, most))
    ready = 0 if dead else jobs

    assert (depth.ready, depth.busy, depth.delayed) == (ready, ready, ready)
    assert (depth.dead, depth.accuracy) == (jobs if dead else 0, accuracy)


def test_a_depth_is_that_of_all_parts_and_the_oldest_ready_job_counts(make, time):
    queue = make(parts=8)
    assert (queue.depth().ready, queue.depth().oldest_us) == (0, 0)
    for name in "abcdefgh":
        queue.add(name)
        time.sleep(1)
    with queue.take(wait=0):
        queue.add(NewJob("later", delay=1))
        time.sleep(2)
        depth = queue.depth()

    assert (depth.ready, depth.busy, depth.delayed, depth.oldest_us) == (7, 1, 1, 9_000_000)


def first_answer_lost(monkeypatch, store, call):
    """The first request is applied, and its answer lost."""
    whole, calls = getattr(store, call), []

    def lost(*arguments):
        answer = whole(*arguments)
        calls.append(answer)
        if len(calls) == 1:
            raise StoreUnavailable("no answer")
        return answer

    monkeypatch.setattr(store, call, lost)
    return calls


def test_a_deletion_whose_answer_is_lost_is_recognised_by_its_repeat(queue, store, monkeypatch):
    queue.add(NewJob("a", item_id=item_named("i")))
    calls = first_answer_lost(monkeypatch, store, "delete")

    assert delete_jobs(queue.context, ["a"]) == {"a": Deletion.DELETED}
    assert len(calls) == 2
    assert [entry.item_id for entry in store.outbox(PartKey(KEY, 0))] == [item_named("i")]


def test_the_sweep_fails_the_item_of_a_deleted_job_once(make):
    reported = []
    queue = make(report=reported.append)
    queue.add(NewJob("a", item_id=item_named("i")))
    delete_jobs(queue.context, ["a"])
    for _ in range(2):
        queue.sweep()

    assert [(each.item_id, each.failed, each.reason) for each in reported] == [
        (item_named("i"), True, "the job was deleted")
    ]


def test_a_deletion_wakes_an_idle_queue_whose_sweep_is_to_report_it(queue, store):
    queue.add(NewJob("a", item_id=item_named("i")))
    store.reconfigure(KEY, idle(store.config(KEY), 1))
    delete_jobs(queue.context, ["a"])

    assert store.config(KEY).idle_us is None


def test_a_revival_wakes_an_idle_queue(make, store):
    queue = dying(make, "a")
    (dead,) = queue.dead()
    store.reconfigure(KEY, idle(store.config(KEY), 1))
    with pytest.raises(InvalidRequest, match="a dead job"):
        queue.revive(dead.job)
    assert queue.revive(dead)

    assert store.config(KEY).idle_us is None


@pytest.mark.parametrize("jobs", [15, 16, 17])
def test_the_status_has_the_exact_number_of_jobs(queue, jobs):
    queue.add_all(map(str, range(jobs)))

    assert (describe(queue.context).depth.ready, queue.depth().ready) == (jobs, jobs)


def test_a_job_that_is_gone_when_its_page_is_read_is_left_out(queue, store, monkeypatch):
    queue.add("a")
    monkeypatch.setattr(store, "jobs_at", lambda _: [])

    assert paging.jobs(queue.context, JobState.READY, 9, None).jobs == []


def test_no_job_of_a_queue_that_is_being_removed_is_deleted(queue):
    queue.add("a")
    removing.begin(queue.context, force=True)
    with pytest.raises(Conflict, match="is being removed"):
        delete_jobs(queue.context, ["a"])

    assert names(queue.queued()) == ["a"]


def test_a_dead_job_that_was_revived_meanwhile_is_not_deleted(make, store, monkeypatch):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    (record,), (gone,) = records(queue), queue.dead()
    whole = store.remove_dead
    monkeypatch.setattr(store, "remove_dead", lambda seen: queue.revive(gone) and whole(seen))

    assert delete_dead(queue.context, [record, (7, "x")]) == {
        record: Deletion.NOT_FOUND,
        (7, "x"): Deletion.NOT_FOUND,
    }
    assert names(queue.queued()) == ["a"]


def test_a_revival_whose_answer_is_lost_counts_once(make, store, monkeypatch):
    queue = make(max_failures=1)
    queue.add("a")
    fail(queue)
    first_answer_lost(monkeypatch, store, "revive")
    asked = records(queue) * 2

    assert revive_some(queue, asked).outcomes == {asked[0]: Revival.REVIVED}
    assert revive_some(queue, asked).outcomes == {asked[0]: Revival.NOT_FOUND}


def raised(queue, store, phase) -> None:
    """Have the parts of the queue be raised from 1 to 2."""
    config = store.config(KEY)
    store.reconfigure(
        KEY, replace(config, revision=config.revision + 1, parts=2, before=1, phase=phase, since_us=1)
    )
    queue.context.read_config()


def placed(queue, store, parts: int):
    """A job "e", whose part differs between 1 and 2 parts, where so many *parts* have it."""
    job = lifecycle.new_job(NewJob("e"), job_key(KEY, parts, "e"), "id", queue.context.effects.now(), None)
    store.add(job, None)
    return job


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.DRAINING, Phase.EXPIRING])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_job_is_deleted_in_either_part_while_they_are_raised(queue, store, phase, parts):
    queue.context.config()
    raised(queue, store, phase)
    job = placed(queue, store, parts)

    assert delete_jobs(queue.context, ["e"]) == {"e": Deletion.DELETED}
    assert store.get(job.key).state is JobState.DONE


def test_a_job_that_ends_and_is_forgotten_before_the_write_is_not_found(queue, store, monkeypatch):
    queue.add("a")
    monkeypatch.setattr(store, "delete", lambda *_: store.stored.clear())

    assert delete_jobs(queue.context, ["a"]) == {"a": Deletion.NOT_FOUND}


@pytest.mark.parametrize("moment", ["before the write", "between the reads"])
def test_a_job_that_is_moved_meanwhile_is_deleted_in_its_new_part(queue, store, monkeypatch, moment):
    queue.context.config()
    raised(queue, store, Phase.DRAINING)
    job, new = placed(queue, store, 1), job_key(KEY, 2, "e")
    call = "delete" if moment == "before the write" else "get"
    whole = getattr(store, call)

    def beside_a_move(*asked):
        monkeypatch.undo()
        found = whole(*asked) if call == "get" else None
        assert store.move(job, lifecycle.moved(job, new, None), None, queue.context.effects.now())
        return found if call == "get" else whole(*asked)

    monkeypatch.setattr(store, call, beside_a_move)

    assert delete_jobs(queue.context, ["e"]) == {"e": Deletion.DELETED}
    assert store.get(new).state is JobState.DONE


def test_a_list_has_a_hundred_jobs_unless_another_number_is_asked_for(make):
    queue = make(max_failures=1)
    queue.add_all(str(number) for number in range(101))
    ready = len(queue.queued())
    with queue.take(101):
        busy = len(queue.in_progress())
    queue.add_all(str(number) for number in range(101))
    fail(queue, 101)
    queue.add_all(NewJob(f"{number} later", delay=60) for number in range(101))

    assert [ready, busy, len(queue.delayed()), len(queue.dead())] == [100] * 4
    assert len(queue.delayed(101)) == len(queue.dead(101)) == 101
    assert len(queue.delayed(1)) == len(queue.dead(1_000_000)) - 100 == 1
    for limit in (0, 1_000_001):
        with pytest.raises(InvalidRequest, match="limit"):
            queue.queued(limit)


def test_the_id_of_a_dead_job_names_its_part_and_its_row():
    assert dead_id_of((258, "D#1")) == "AQJEIzE"
    assert record_of("AQJEIzE") == (258, "D#1")
    longest = (65_535, "~?>" * 341 + "x")
    assert record_of(dead_id_of(longest)) == longest
    for unknown in ("AQ", "AQI", "AQJEIzF", dead_id_of((1, longest[1] + "x"))):
        with pytest.raises(InvalidRequest, match="deadId is not one of a list"):
            record_of(unknown)
