"""The page's runs are ones that the jobs take, and its sums are those of the cost model."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

import pytest

from infra.pipeline_jobs import JOBS
from pipeline import entry

PAGE = (Path(__file__).parents[3] / "docs" / "analytics.md").read_text()
RUNS = re.findall(
    r"glue start-job-run --job-name fanin-prod-([\w-]+) --arguments '(\{.*?\})'", PAGE, re.DOTALL
)
# The options with which Glue names where a job runs are not on the page; any value will do.
PLACE = "s3://place"


def parsed(arguments: list[str], places: tuple[str, ...] = ()):
    name, own = entry.read(arguments)
    module = entry.job(name)
    return module.arguments().parse_args([*own, *chain.from_iterable((option, PLACE) for option in places)])


@pytest.mark.parametrize(("label", "text"), RUNS)
def test_a_run_on_glue_is_one_that_the_job_takes(label, text):
    (job,) = (job for job in JOBS if job.label == label)
    given = chain.from_iterable(json.loads(text).items())

    assert parsed(["--fanin-job", job.name, *given], job.defaults)


def test_the_run_on_emr_is_one_that_the_job_takes():
    (driver,) = re.findall(r"--job-driver '(\{.*?\})'", PAGE, re.DOTALL)
    submit = json.loads(driver)["sparkSubmit"]

    assert parsed(submit["entryPointArguments"]).pages_table == "PAGES"
