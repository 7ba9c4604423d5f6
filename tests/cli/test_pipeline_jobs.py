"""The verbs of the pipeline: a job gets its arguments as they are, and ends the verb as it ends."""

from __future__ import annotations

import sys

import pytest

from fanin.cli import pipeline_jobs
from fanin.cli.app import VERBS

JOBS = VERBS["pipeline_jobs"]
TABLES = ("--tenant", "t", "--batches-table", "b", "--pages-table", "p", "--dry-run", "--engine", "local")


@pytest.fixture(autouse=True)
def path(monkeypatch):
    """What a verb puts on the path of its process ends with the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize("verb", JOBS)
def test_the_help_is_that_of_the_job(fanin, verb):
    completed = fanin(verb, "--help")

    assert completed.code == 0
    assert completed.out.startswith(f"usage: {verb.replace('-', '_')} ")
    assert "--engine {auto,local,spark}" in completed.out


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--every", "x", "log.csv"), 2, "bulk_ack: error: argument --every"),
        (("no.csv", *TABLES), 1, "bulk_ack: path does not exist"),
    ],
)
def test_a_job_that_fails_ends_the_verb_with_its_sentence_and_its_exit_code(
    process, arguments, code, sentence
):
    completed = process("bulk-ack", *arguments)

    assert completed.code == code
    assert sentence in completed.err


def test_a_job_without_its_libraries_names_the_extra(fanin, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("pipeline.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    completed = fanin("bulk-ack", "log.csv")

    assert (completed.code, completed.err) == (
        1,
        "fanin bulk-ack needs pyarrow: pip install 'fanin[spark]'\n",
    )


@pytest.mark.parametrize("installed", [True, False])
def test_the_pipeline_is_in_the_package_of_a_wheel_and_beside_that_of_a_clone(tmp_path, installed):
    package = tmp_path / "shared/fanin"
    (package / pipeline_jobs.IN_WHEEL if installed else package).mkdir(parents=True)

    found = pipeline_jobs.code_beside(package)

    assert found == (package / pipeline_jobs.IN_WHEEL if installed else tmp_path)
