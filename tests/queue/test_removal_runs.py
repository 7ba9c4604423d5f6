"""The sweep's runs that remove a queue, also late ones, and what meets a removal, a pause or a fork."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from fanin.errors import Conflict
from fanin.queue import NewJob, Ring
from fanin.queue.administration import removing
from fanin.queue.administration.pausing import pause
from fanin.queue.administration.raising import raise_parts
from fanin.queue.rules.config import Phase
from fanin.queue.rules.messages import body
from fanin.queue.upkeep import widening
from fanin.queue.upkeep.sleeping import SETTLE_SECONDS
from fanin.queue.upkeep.visiting import visit
from tests.forks import forked, status_of
from tests.item_ids import item_named
from tests.queue.conftest import KEY, expects, fail, session_of
from tests.queue.removals import Recorded, rows_of, swept

PAGE = (Path(__file__).parents[2] / "docs" / "queue.md").read_text()


def test_a_run_returns_whether_the_queue_is_gone_and_leaves_one_in_use_alone(queue, store, time):
    queue.add("a")
    assert removing.proceed(queue.context, None) is False
    assert [job.name for job in queue.queued()] == ["a"]
    removing.begin(queue.context, force=True)
    runs = [removing.proceed(queue.context, None)]
    time.sleep(SETTLE_SECONDS)
    runs += [removing.proceed(queue.context, None) for _ in range(3)]

    assert runs == [False, False, True, True]
    assert store.config(KEY).removed_us == time.now()


def test_a_queue_is_not_gone_before_its_outbox_is_reported(make, store, time):
    def refuse(_entry):
        raise Conflict("refused")

    queue = make(report=refuse)
    queue.add(NewJob("a", item_id=item_named("i")))
    removing.begin(queue.context, force=True)
    swept(queue, time)
    assert store.config(KEY).removed_us is None
    reported = []
    visit(replace(queue.context, report=reported.append))
    visit(queue.context)

    assert [entry.item_id for entry in reported] == [item_named("i")]
    assert store.config(KEY).removed_us is not None


def test_a_run_deletes_up_to_as_many_rows_as_the_page_of_queues_says(queue, store, monkeypatch):
    queue.context.config()
    removing.begin(queue.context, force=False)
    limits = limits_of(store, monkeypatch, "page")
    removing.proceed(queue.context, None, settle=0)

    assert f"the rows of the queue, up to {limits[0]:,} a minute" in PAGE


@pytest.mark.parametrize("kind", ["queued", "dead"])
@pytest.mark.parametrize("placed", [(3, 3), (4, 2)])
def test_a_run_deletes_a_bounded_number_of_rows_over_all_parts(make, store, time, monkeypatch, placed, kind):
    monkeypatch.setattr(removing, "ROWS_A_RUN", 4)
    queue = make(parts=2, max_failures=1)
    names = {part: [n for n in map(str, range(50)) if part_of(queue, n) == part] for part in (0, 1)}
    for part, many in enumerate(placed):
        queue.add_all(names[part][:many])
    if kind == "dead":
        fail(queue, most=6)
        store.stored.clear()
    queue.close()
    removing.begin(queue.context, force=True)
    time.sleep(SETTLE_SECONDS)
    limits = limits_of(store, monkeypatch, "page" if kind == "queued" else "dead")
    left = []
    while store.config(KEY).removed_us is None:
        removing.proceed(queue.context, None)
        left.append(rows_of(store))

    assert left == [2, 0, 0]
    assert min(limits) >= 1, "DynamoDB refuses a limit of 0"


def part_of(queue, name: str) -> int:
    return queue.context.rows(name).at.part.number


def limits_of(store, monkeypatch, read: str) -> list[int]:
    """The limits of the reads that follow."""
    limits, real = [], getattr(type(store), read)

    def noted(*arguments):
        limits.append(arguments[-1])
        return real(store, *arguments)

    monkeypatch.setattr(store, read, noted, raising=False)
    return limits


def test_the_doorbell_is_deleted_once_nothing_is_left_and_not_before(queue, store, time):
    doorbells = Recorded()
    queue.context.config()
    removing.begin(queue.context, force=False)
    store.configs[KEY] = replace(store.config(KEY), doorbell="https://sqs/bell")
    visit(queue.context, doorbells)
    assert doorbells.urls == []
    time.sleep(SETTLE_SECONDS)
    visit(queue.context, doorbells)

    assert doorbells.urls == [(KEY, "https://sqs/bell")]


@pytest.mark.parametrize("kind", ["job", "mark", "dead job", "session"])
def test_a_sweep_that_stood_still_deletes_nothing_of_the_next_queue(make, store, time, monkeypatch, kind):
    queue, next_queue = make(max_failures=1), make(max_failures=1)
    queue.add("a")
    removing.begin(queue.context, force=True)
    time.sleep(SETTLE_SECONDS)
    read = {"session": "members", "dead job": "dead"}.get(kind, "page")
    found = getattr(store, read)

    def late(*arguments):
        monkeypatch.undo()
        swept(queue, time)
        rows_of_next(next_queue, kind)
        return found(*arguments)

    monkeypatch.setattr(store, read, late, raising=False)
    removing.proceed(queue.context, Recorded())

    assert next_has(store, next_queue, kind)


def test_a_sweep_that_stood_still_leaves_the_doorbell_of_the_next_queue(make, store, time, monkeypatch):
    queue, doorbells = make(), Recorded()
    queue.context.config()
    store.configs[KEY] = replace(store.config(KEY), doorbell="https://sqs/bell")
    removing.begin(queue.context, force=True)
    time.sleep(SETTLE_SECONDS)
    found = store.outbox

    def late(where):
        monkeypatch.undo()
        swept(queue, time, Recorded())
        make().add("b")
        return found(where)

    monkeypatch.setattr(store, "outbox", late, raising=False)

    assert removing.proceed(queue.context, doorbells) is False
    assert doorbells.urls == []


def rows_of_next(queue, kind):
    """Create the queue anew, with one row of *kind*."""
    queue.add("b")
    if kind == "dead job":
        fail(queue)
    elif kind != "job":
        with queue.take():
            pass
    if kind != "session":
        queue.close()


def next_has(store, queue, kind) -> bool:
    rows = {
        "job": list(queue.queued()),
        "mark": [job for job in store.stored.values() if not job.is_live],
        "dead job": list(queue.dead()),
        "session": [each for each in store.members(KEY) if each.live],
    }
    return len(rows[kind]) == 1


INVOCATION = SimpleNamespace(get_remaining_time_in_millis=lambda: 3000)


EVENT = {"Records": [{"messageId": "r", "body": body(KEY, Ring(0)), "receiptHandle": "r"}]}


def remove(queue, time):
    """Remove the queue, and visit it until it is gone."""
    removing.begin(queue.context, force=True)
    for _ in range(4):
        visit(queue.context)
        time.sleep(SETTLE_SECONDS)


def is_removed(store) -> bool:
    return store.config(KEY).removed_us is not None


@pytest.mark.parametrize("gone", [False, True])
def test_an_invocation_by_a_ring_of_a_removed_queue_has_no_job_and_creates_no_queue(make, store, time, gone):
    function = make()
    function.add("a")
    removing.begin(make().context, force=True)
    if gone:
        remove(make(), time)
    with function.answer(EVENT, INVOCATION) as jobs:
        assert list(jobs) == []

    assert is_removed(store) == gone
    assert not store.sessions.get(KEY)


def test_a_worker_that_stood_still_while_its_queue_was_removed_does_not_create_it(make, store, time):
    queue = make()
    queue.add_all(["a", "b"])
    scope = queue.take()
    with scope:
        remove(make(), time)
        queue._worker.maintenance.tick()
        for job in list(scope):
            scope.release(job)
    queue.context.ring([Ring(0)])
    queue.context.delete([Ring(0)])

    assert is_removed(store)


def test_a_take_that_waited_while_its_queue_was_removed_does_not_create_it(make, store, time):
    queue = make()
    with queue.take(wait=0):
        pass
    remove(make(), time)
    session_of(queue).patience = inf  # a monotonic clock that stood still too
    with expects(Conflict), queue.take(wait=0):
        pass

    assert is_removed(store)


def test_a_paused_queue_is_kept_for_its_next_add(queue, store, time):
    queue.context.config()
    pause(queue.context)
    for days in (0, 1, 40):
        time.sleep(days * 86_400)
        visit(queue.context)
    queue.add("a")

    assert store.config(KEY).paused


def test_a_row_that_cannot_be_moved_stops_the_raise_and_not_the_sweep(make, store, time, monkeypatch):
    queue = make(parts=1)
    queue.context.config()
    raise_parts(store, queue.context.effects, KEY, 2)
    while store.config(KEY).phase is not Phase.DRAINING or store.config(KEY).since_us is None:
        visit(queue.context)
        time.sleep(widening.SETTLE_SECONDS)
    queue.add(NewJob("a", delay=1))
    time.sleep(2)

    def unreadable(*_):
        raise ValueError("a row of another shape")

    monkeypatch.setattr(store, "page", unreadable, raising=False)
    with pytest.raises(ValueError, match="another shape"):
        visit(queue.context)

    assert [job.name for job in queue.queued()] == ["a"]


def test_a_child_uses_the_config_although_a_thread_of_its_parent_kept_one_at_the_fork(queue):
    queue.context.config()

    def work():
        assert queue.add("a")

    with queue.context.cache.lock():
        child = forked(work)

    assert status_of(child) == 0
