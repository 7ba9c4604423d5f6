"""What a sweep promotes, frees, rings for and reports; a crashed worker's job runs elsewhere in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import OutboxEntry
from fanin.queue.upkeep.maintenance import Maintenance
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY


@pytest.fixture
def bench():
    return Bench()


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


KILLED, FROZEN, ALIVE = 0, 1, 2
