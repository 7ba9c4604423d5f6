from __future__ import annotations

import re

import pytest

from pipeline import entry

# As a script of Glue finds them in sys.argv.
GLUES = ["--job-bookmark-option", "job-bookmark-disable", "--JOB_ID", "j_1", "--JOB_RUN_ID", "jr_1"]
MORE = ["--JOB_NAME", "fanin-dev-fan-out", "--TempDir", "s3://b/t", "--enable-metrics", ""]


def test_the_job_gets_its_own_options_alone():
    own = ["--manifest", "s3://b/m", "--limit", "5"]

    assert entry.read([*GLUES, *own[:2], "--fanin-job", "fan_out", *MORE, *own[2:]]) == ("fan_out", own)


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (["--dry-run", "true", "--json", "true"], ["--dry-run", "--json"]),
        (["--dry-run", "", "--json", ""], ["--dry-run", "--json"]),
        (["--dry-run", "--json"], ["--dry-run", "--json"]),
        (["--JOB_ID=j", "--limit=5"], ["--limit=5"]),
        (
            ["--rate", "5", "--fanin-paths", "s3://b/acks/ 's3://b/two parts'"],
            ["s3://b/acks/", "s3://b/two parts", "--rate", "5"],
        ),
    ],
    ids=["true is a flag", "empty is a flag", "a flag", "a sign of equality", "paths come first"],
)
def test_glues_forms_of_an_option_are_those_of_the_job(given, own):
    assert entry.read(["--fanin-job=bulk_ack", *given]) == ("bulk_ack", own)


def test_what_neither_glue_nor_the_job_knows_is_refused(capsys):
    with pytest.raises(SystemExit):
        entry.main([*GLUES, "--fanin-job", "fan_out", "--dry-run", "true", "--dataste", "s3://b/d"])

    assert "unrecognized arguments: --dataste s3://b/d" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [GLUES, ["--fanin-job"], ["--fanin-job", "a", "b"], ["--fanin-job", "a", "--fanin-job", "a"]]
)
def test_one_job_is_to_be_named(argv):
    with pytest.raises(SystemExit, match=r"takes the name of one job: .*fan_out"):
        entry.main(argv)


@pytest.mark.parametrize("name", ["fanout", "../sinks", "jobs.fan_out", ""])
def test_only_a_job_is_run(name):
    with pytest.raises(SystemExit, match=rf"no job '{re.escape(name)}'.*fan_out"):
        entry.main(["--fanin-job", name])


@pytest.mark.parametrize("name", entry.known())
def test_no_option_of_a_job_has_a_name_that_glue_takes_for_itself(name, capsys):
    with pytest.raises(SystemExit):
        entry.job(name).main(["--help"])
    options = set(re.findall(r"--[A-Za-z][\w-]*", capsys.readouterr().out))

    assert options
    assert not options & {*entry.GLUE, entry.JOB, entry.PATHS}
