"""The load up to which each sweep has done its work within a minute, as docs/operations.md has it."""

from __future__ import annotations

from pathlib import Path

from fanin_cdk.grants.job_handlers import SWEEP_JOBS
from lab.requests.sweeps import VCPU_MB, Work, of_batches, of_queues, table

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()


def test_the_page_has_the_load_that_is_computed():
    assert "\n".join(table()) in PAGE


def test_a_visit_to_an_empty_queue_takes_few_requests_and_an_idle_one_few_visits():
    """It took 29 requests each minute."""
    in_use, idle = of_queues()

    assert in_use.requests < 23
    assert idle.requests < 5


def test_a_batch_that_is_due_takes_few_requests():
    assert all(work.requests <= 4 for work in of_batches())


def test_a_function_has_the_share_of_a_vcpu_of_its_memory():
    work = Work("visits", SWEEP_JOBS.lambda_, requests=10, milliseconds=3.0)

    assert work.in_a_minute == int(60_000 * SWEEP_JOBS.lambda_.memory / VCPU_MB / 30)
