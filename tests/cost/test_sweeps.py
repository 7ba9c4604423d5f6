"""The load up to which each sweep ends within a minute, as docs/operations_reference.md has it."""

from __future__ import annotations

from pathlib import Path

from lab.requests.sweeps import of_queues, table

PAGE = (Path(__file__).parents[2] / "docs" / "operations_reference.md").read_text()


def test_the_page_has_the_load_that_is_computed():
    assert "\n".join(table()) in PAGE


def test_a_visit_to_an_empty_queue_takes_few_requests_and_an_idle_one_few_visits():
    """It took 29 requests each minute."""
    in_use, idle = of_queues()

    assert in_use.requests < 23
    assert idle.requests < 5
