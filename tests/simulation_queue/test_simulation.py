"""A seed that found an error of the work queue."""

from __future__ import annotations

from tests.simulation_queue.simulation import simulate


def test_a_clock_that_is_set_forward_drops_no_freed_job():
    """In this seed the worker that freed the job of a killed one let it wait behind others."""
    assert simulate(1069).violation is None
