"""The Spark jobs' part of the stack: what both engines have in common, and AWS Glue."""

from __future__ import annotations

import io
import json
import re
from itertools import chain
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from infra import pipeline_code
from infra.paths import PIPELINE, ROOT
from infra.pipeline_jobs import JOBS
from pipeline import entry
from tests.infra.synthesis import synthesised
from tests.infra.test_alarms import OFF
from tests.infra.test_checks import ANALYTICS, VARIANTS
from tests.infra.test_functions import grants_of, role_of

QUEUE, DATASETS, CRON = (ANALYTICS[f"analytics_{name}"] for name in ("queue_arns", "bucket_arns", "schedule"))
CHANGE_OBJECTS = {"s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"}
LOOK_INTO_BUCKET = {"s3:GetBucketLocation", "s3:ListBucket"}


def engine(name):
    """The stack with all settings of the analytics, on that engine."""
    return synthesised(**VARIANTS[name])


@pytest.fixture(scope="module")
def glue():
    return engine("glue")


@pytest.fixture(scope="module")
def jobs(glue):
    """The Glue jobs by the name of the job in the pipeline."""
    found = (each["Properties"] for each in glue.of_type("AWS::Glue::Job").values())
    return {each["NonOverridableArguments"]["--fanin-job"]: each for each in found}


def flat(value):
    """A value of a template as one text: what it refers to in angle brackets."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return separator.join(flat(part) for part in parts)
        case {"Fn::Sub": text}:
            return re.sub(r"\$\{(.*?)\}", r"<\1>", text)
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Ref": name}:
            return f"<{name}>"
    return value


def granted(assembly, role):
    """The pairs of an action and a resource that *role* may."""
    return {(action, flat(resource)) for actions, resource in grants_of(assembly, role) for action in actions}


def ours(assembly):
    """The resources of the analytics, with the hashes of assets masked, and nothing in their order."""
    resources = assembly.template["Resources"].items()
    text = json.dumps({name: each for name, each in resources if name.startswith("Analytics")})
    return json.loads(re.sub(r"[0-9a-f]{64}", "<asset>", text), object_hook=_ordered)


def _ordered(each):
    """A statement with the resources in an order that the hashes in their names do not change."""
    if isinstance(each.get("Resource"), list):
        each["Resource"].sort(key=json.dumps)
    return each


def asset_of(assembly, url):
    return (assembly.folder / f"asset.{flat(url).rpartition('/')[2]}").read_bytes()


def test_every_job_of_the_pipeline_is_deployed(jobs):
    assert [job.name for job in JOBS] == list(jobs)
    assert set(jobs) == set(entry.known())


def test_glue_runs_the_spark_that_the_tests_run(jobs):
    pinned = (ROOT / "requirements-dev.txt").read_text().splitlines()

    assert {each["GlueVersion"] for each in jobs.values()} == {"6.0"}
    # The release notes of Glue: version 6.0 is Spark 4.1.1.
    assert "pyspark==4.1.1 \\" in pinned


def names_in(archive):
    with ZipFile(io.BytesIO(archive)) as opened:
        return opened.namelist()


def test_glue_is_given_the_script_and_the_zip(glue, jobs, tmp_path):
    pipeline_code.pack(tmp_path / "fresh.zip")
    fresh = names_in((tmp_path / "fresh.zip").read_bytes())
    for each in jobs.values():
        assert asset_of(glue, each["Command"]["ScriptLocation"]) == (PIPELINE / "entry.py").read_bytes()
        assert names_in(asset_of(glue, each["DefaultArguments"]["--extra-py-files"])) == fresh


@pytest.mark.parametrize("name", entry.known())
def test_a_job_takes_the_options_that_it_is_given(jobs, name, capsys):
    arguments = {**jobs[name]["DefaultArguments"], **jobs[name]["NonOverridableArguments"]}
    read, unread = entry.read(chain.from_iterable((key, flat(value)) for key, value in arguments.items()))
    with pytest.raises(SystemExit):
        entry.job(name).main(["--help"])
    known = set(re.findall(r"--[A-Za-z][\w-]*", capsys.readouterr().out))

    assert read == name
    assert {text for text in unread if text.startswith("--")} <= known


def expected(glue, name):
    """The grants of a job that its row names, by what it works on."""
    tables = {"batches": "TablesBatches", "pages": "TablesPages"}
    (job,) = (job for job in JOBS if job.name == name)
    own = bucket_of(glue, "AnalyticsGround")
    found = {(action, own) for action in LOOK_INTO_BUCKET} | {
        (action, f"{own}/*") for action in CHANGE_OBJECTS
    }
    sources = [DATASETS, *([bucket_of(glue, "Archive")] if job.reads_archive else [])]
    for source in sources:
        found |= {(action, source) for action in LOOK_INTO_BUCKET} | {("s3:GetObject", f"{source}/*")}
    for attribute, beginning in tables.items():
        (table,) = (each for each in glue.of_type("AWS::DynamoDB::Table") if each.startswith(beginning))
        found |= {(action, f"<{table}.Arn>") for action in getattr(job, attribute)}
    return found | ({("sqs:SendMessage", QUEUE)} if job.sends else set())


def bucket_of(assembly, beginning):
    (found,) = (name for name in assembly.of_type("AWS::S3::Bucket") if name.startswith(beginning))
    return f"<{found}.Arn>"


@pytest.mark.parametrize("name", [job.name for job in JOBS])
def test_a_job_may_do_what_is_said_of_it_and_no_more(glue, jobs, name):
    found = granted(glue, role_of(jobs[name]))
    logs = {each for each in found if each[0].startswith(("logs:", "kms:"))}
    code = {each for each in found if "cdk-hnb659fds-assets" in each[1]}
    calls = {each for each in found if each[0] == "execute-api:Invoke"}

    assert found - logs - code - calls == expected(glue, name)
    assert {action for action, _ in code} == {"s3:GetObject"}
    assert not [resource for _, resource in logs | code if "*" in resource]
    assert sorted(resource.partition("$default/")[2] for _, resource in calls) == (
        ["POST/v1/batches", "POST/v1/batches/*/close", "POST/v1/batches/*/items"] if name == "fan_out" else []
    )


def test_without_a_queue_to_send_to_no_job_sends():
    bare = synthesised(**OFF)

    assert not [
        action
        for role in bare.of_type("AWS::IAM::Role")
        if role.startswith("Analytics")
        for action, _ in granted(bare, role)
        if action.startswith("sqs:")
    ]
    assert not bare.of_type("AWS::Glue::Trigger")


def test_the_history_runs_by_itself_only_where_there_is_an_archive(glue):
    from infra.spark_jobs.analytics_places import Places

    without = Places(SimpleNamespace(bucket=None), SimpleNamespace(archive=None))
    trigger = glue.only("AWS::Glue::Trigger")["Properties"]
    started = [action["JobName"]["Ref"] for action in trigger["Actions"]]

    assert [job.name for job in without.scheduled()] == ["audit"]
    assert [re.match("AnalyticsGlue(.*)Job", name)[1] for name in started] == ["Audit", "History"]
    assert (trigger["Type"], trigger["Schedule"], trigger["StartOnCreation"]) == ("SCHEDULED", CRON, True)


def test_the_jobs_on_glue_are_deployed_as_they_were_last_looked_at(glue, snapshot: SnapshotAssertion):
    assert ours(glue) == snapshot.use_extension(JSONSnapshotExtension)
