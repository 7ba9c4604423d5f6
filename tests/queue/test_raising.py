"""A raise of the parts: its phases by the clock, what each sweep moves, and what others do meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, InvalidRequest, NotFound, PartFull
from fanin.queue import NewJob
from fanin.queue.administration.raising import raise_parts
from fanin.queue.maintenance import raise_phases
from fanin.queue.maintenance.raise_phases import EXPIRE_SECONDS, SETTLE_SECONDS
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.model import Dead, JobState, Rejected
from tests.queue.conftest import KEY, names, session_of

OLD, NEW = 2, 4


MOVES = next(name for name in map(str, range(99)) if job_key(KEY, OLD, name) != job_key(KEY, NEW, name))


STAYS = next(name for name in map(str, range(99)) if job_key(KEY, OLD, name) == job_key(KEY, NEW, name))


@pytest.fixture
def queue(make):
    opened = make(parts=OLD)
    opened.context.config()
    return opened


@pytest.fixture
def go_on(queue, time):
    """Sweeps until the raise is in a phase."""

    def until(phase: Phase) -> None:
        for _ in range(9):
            if config_of(queue).phase is phase:
                return
            queue.sweep()
            time.sleep(max(SETTLE_SECONDS, EXPIRE_SECONDS) + 1)
        raise AssertionError(f"no {phase}: {config_of(queue)}")

    return until


def raised(queue, parts):
    return raise_parts(queue.context.store, queue.context.effects, KEY, parts)


def config_of(queue):
    return queue.context.store.config(KEY)


def test_a_raise_goes_through_its_phases_as_each_has_settled(queue, time):
    assert raised(queue, NEW).phase is Phase.PREPARING
    seen = []
    for seconds in (0, SETTLE_SECONDS - 1, 1, 0, SETTLE_SECONDS - 1, 1, 0, EXPIRE_SECONDS - 1, 1):
        time.sleep(seconds)
        queue.sweep()
        seen.append(config_of(queue).phase.value)

    assert seen == ["preparing", "preparing", "draining"] + ["draining"] * 2 + ["expiring"] * 3 + ["steady"]
    assert (config_of(queue).parts, config_of(queue).before) == (NEW, None)


def test_a_raise_of_many_parts_comes_to_its_end(make, time):
    queue = make(parts=17)
    queue.add_all(map(str, range(100)))
    raised(queue, 18)
    for _ in range(8):
        queue.sweep()
        time.sleep(EXPIRE_SECONDS)

    assert (config_of(queue).phase, config_of(queue).cursor) == (Phase.STEADY, "")
    live = [job for job in queue.context.store.stored.values() if job.is_live]
    assert {job.key for job in live} == {job_key(KEY, 18, str(number)) for number in range(100)}


def test_a_raise_can_be_repeated_and_no_other_begins_before_its_end(queue, go_on):
    first = raised(queue, NEW)

    assert raised(queue, NEW) == first
    for parts in (NEW + 1, OLD):
        with pytest.raises(Conflict, match="raised from 2 to 4"):
            raised(queue, parts)
    go_on(Phase.DRAINING)
    go_on(Phase.STEADY)

    assert raised(queue, NEW + 1).phase is Phase.PREPARING


def test_parts_are_not_lowered_nor_raised_beyond_the_most_nor_of_a_queue_that_is_not_there(make, queue):
    with pytest.raises(Conflict, match="2 parts; their number can be raised, and not lowered"):
        raised(queue, OLD - 1)
    with pytest.raises(InvalidRequest, match="1 to 256"):
        raised(queue, 257)
    before = config_of(queue)
    raise_phases.advance(queue.context)
    assert config_of(queue) == before
    queue.context.store.configs.clear()
    with pytest.raises(NotFound):
        raised(queue, NEW)
    raise_phases.advance(queue.context)
    assert config_of(queue) is None


def test_waiting_jobs_are_moved_in_their_order_and_busy_ones_are_waited_for(
    queue, go_on, time, monkeypatch, bell
):
    monkeypatch.setattr(raise_phases, "PAGE_ROWS", 2)
    queue.add_all([MOVES, *(NewJob(f"{i}", delay=9e6 * (i % 3 == 0)) for i in range(100, 112))])
    before = names(queue.queued())[1:]
    raised(queue, NEW)
    go_on(Phase.DRAINING)
    with queue.bounded(9 * SETTLE_SECONDS) as bounded, bounded.take(wait=0) as jobs:
        assert names(jobs) == [MOVES]
        bell.rings.clear()
        raise_phases.advance(queue.context)
        time.sleep(SETTLE_SECONDS)
        for _ in range(3):
            raise_phases.advance(queue.context)

        assert config_of(queue).phase is Phase.DRAINING
        assert bell.rings, "who waits looks at the new part"
    raise_phases.advance(queue.context)

    assert config_of(queue).phase is Phase.EXPIRING
    live = [job for job in queue.context.store.stored.values() if job.is_live]
    assert {job.key for job in live} == {job_key(KEY, NEW, job.name) for job in live}
    assert (len(live), names(queue.queued())) == (12, before)


def test_the_next_sweep_goes_on_after_the_row_before_the_first_job_that_was_not_moved(queue, go_on, time):
    here = [n for n in map(str, range(99)) if job_key(KEY, OLD, n).part == job_key(KEY, OLD, MOVES).part]
    before = max(name for name in here if name < "9" and job_key(KEY, NEW, name) == job_key(KEY, OLD, name))
    moves = min(name for name in here if name > before and job_key(KEY, NEW, name) != job_key(KEY, OLD, name))
    first = min(name for name in here if job_key(KEY, NEW, name) != job_key(KEY, OLD, name))
    assert first < before
    queue.add_all([before, moves, NewJob(first, delay=9e6)])
    raised(queue, NEW)
    go_on(Phase.DRAINING)
    with queue.bounded(9 * SETTLE_SECONDS) as bounded, bounded.take(2, wait=0) as jobs:
        assert len(jobs) == 2
        raise_phases.advance(queue.context)
        time.sleep(SETTLE_SECONDS)
        raise_phases.advance(queue.context)

        assert config_of(queue).cursor == f"{jobs[0].key.part.number:04x}#k#{before}"


def test_a_job_of_a_full_part_is_left_and_others_are_taken(make, store, monkeypatch, caplog):
    queue = make(parts=OLD)
    queue.add_all([MOVES, STAYS])
    full, claim = job_key(KEY, OLD, MOVES).part, store.claim
    if job_key(KEY, OLD, STAYS).part == full:
        queue.add(next(name for name in map(str, range(99)) if job_key(KEY, OLD, name).part != full))

    def claimed(seen, *more):
        if seen.key.part == full:
            raise PartFull("a part holds 10 GB")
        return claim(seen, *more)

    monkeypatch.setattr(store, "claim", claimed)
    with queue.take(9, wait=0) as jobs:
        assert len(jobs) == len(session_of(queue).held) == 1
    assert jobs[0].key.part != full
    assert "cannot be claimed: a part holds 10 GB" in caplog.text


@pytest.mark.parametrize(("rows", "sweeps"), [(10_000, 1), (10_001, 2), (20_000, 2), (20_001, 3)])
def test_a_sweep_reads_10000_rows_of_the_old_parts_and_the_next_one_goes_on_after_them(
    make, store, time, monkeypatch, rows, sweeps
):
    """The rows are marks: none is moved."""
    queue = make(parts=1)
    config = replace(queue.context.config(), revision=1, parts=2, before=1, phase=Phase.DRAINING)
    store.reconfigure(KEY, replace(config, since_us=time.now()))

    def page(_, after, limit):
        end = int(after or 0) + limit
        return [], f"{end:05}" if end < rows else None

    monkeypatch.setattr(store, "page", page)
    phases = []
    for _ in range(sweeps):
        time.sleep(SETTLE_SECONDS)
        raise_phases.advance(queue.context)
        phases.append(config_of(queue).phase)

    assert phases == [Phase.DRAINING] * (sweeps - 1) + [Phase.EXPIRING]


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.DRAINING, Phase.EXPIRING])
def test_a_job_whose_key_has_no_row_at_its_other_part_is_added_in_each_phase(queue, go_on, phase):
    raised(queue, NEW)
    go_on(phase)
    queue.context.read_config()

    assert queue.add_all([MOVES, STAYS]) == ()
    assert sorted(names(queue.queued())) == sorted([MOVES, STAYS])


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.DRAINING, Phase.EXPIRING])
def test_the_job_at_the_other_part_of_a_key_answers_an_add_in_each_phase(queue, go_on, store, time, phase):
    raised(queue, NEW)
    go_on(phase)
    queue.context.read_config()
    rows = queue.context.rows(MOVES)
    job = lifecycle.new_job(NewJob(MOVES), rows.other, "mine", time.now(), None)
    store.add(job, None)

    assert queue.add(NewJob(MOVES, id="mine"))
    assert queue.add_all([NewJob(MOVES, id="later")]) == (Rejected(MOVES, JobState.READY),)
    store.stored[job.key] = lifecycle.ended(job, time.now())
    assert queue.add(NewJob(MOVES, id="mine"))
    assert store.get(rows.at) is None
    assert queue.add(NewJob(MOVES, id="later"))
    assert store.get(rows.at).id == "later"


@pytest.mark.parametrize("phase", [Phase.PREPARING, Phase.DRAINING, Phase.EXPIRING])
def test_a_dead_job_comes_back_at_the_part_that_gets_new_jobs(queue, go_on, store, time, phase):
    raised(queue, NEW)
    go_on(phase)
    queue.context.read_config()
    job = lifecycle.new_job(NewJob(MOVES), job_key(KEY, OLD, MOVES), "id", time.now(), None)
    dead = Dead(lifecycle.claimed(job, "session", "claim", time.now()), "boom", time.now())
    store.dead_jobs[KEY] = {dead.record: dead}

    assert queue.revive(dead)
    assert store.get(queue.context.rows(MOVES).at).state is JobState.READY


def test_a_job_that_comes_to_the_other_part_of_a_key_meanwhile_rejects_an_add(
    queue, go_on, store, time, monkeypatch
):
    raised(queue, NEW)
    go_on(Phase.DRAINING)
    queue.context.read_config()
    rows, add = queue.context.rows(MOVES), store.add
    mark, live = (
        lifecycle.new_job(NewJob(MOVES), row, "id", time.now(), None) for row in (rows.at, rows.other)
    )
    store.stored[rows.at] = lifecycle.ended(mark, time.now())

    def before_it_comes(*asked):
        monkeypatch.undo()
        stored = add(*asked)
        store.stored[rows.other] = replace(live, generation=9)
        return stored

    monkeypatch.setattr(store, "add", before_it_comes)

    assert queue.add_all([MOVES]) == (Rejected(MOVES, JobState.READY),)
