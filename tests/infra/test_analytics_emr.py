"""The Spark jobs on EMR Serverless: an application, a role a job, and the runs on a schedule."""

from __future__ import annotations

import json

import botocore.session
import pytest
from botocore.validate import validate_parameters
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from infra.pipeline_jobs import JOBS
from pipeline import entry
from tests.infra.test_analytics import engine, expected, flat, granted, ours

SCHEDULED = [job.name for job in JOBS if job.scheduled]


@pytest.fixture(scope="module")
def emr():
    return engine("emr")


@pytest.fixture(scope="module")
def application(emr):
    return emr.only("AWS::EMRServerless::Application")["Properties"]


@pytest.fixture(scope="module")
def runs(emr):
    """What the schedules send to StartJobRun, by job, with names in angle brackets for what they refer to."""
    found = {}
    for each in emr.of_type("AWS::Scheduler::Schedule").values():
        target = each["Properties"]["Target"]
        assert target["Arn"] == "arn:aws:scheduler:::aws-sdk:emrserverless:startJobRun"
        run = json.loads(flat(target["Input"]))
        found[run["JobDriver"]["SparkSubmit"]["EntryPointArguments"][1]] = run
    return found


def role_of_job(emr, name):
    (job,) = (job for job in JOBS if job.name == name)
    (found,) = (
        role for role in emr.of_type("AWS::IAM::Role") if role.startswith(f"AnalyticsEmr{job.title}Role")
    )
    return found


@pytest.mark.parametrize("name", [job.name for job in JOBS])
def test_a_job_may_do_the_same_as_on_glue(emr, name):
    found = granted(emr, role_of_job(emr, name))
    beside = {each for each in found if each[0].startswith(("logs:", "execute-api:"))}
    code = {each for each in found if "cdk-hnb659fds-assets" in each[1]}

    assert found - beside - code == expected(emr, name)
    assert {action for action, resource in beside if "log-group:*" in resource} == {"logs:DescribeLogGroups"}


@pytest.mark.parametrize("name", SCHEDULED)
def test_a_scheduled_run_is_one_that_emr_takes(emr, runs, name):
    operation = (
        botocore.session.get_session().get_service_model("emr-serverless").operation_model("StartJobRun")
    )
    run = {**runs[name], "ApplicationId": "00abc", "ExecutionRoleArn": "arn:aws:iam::123456789012:role/x"}
    submit = run["JobDriver"]["SparkSubmit"]
    # The scheduler's universal target writes the names of parameters with a capital.
    small = {key[0].lower() + key[1:]: value for key, value in run.items()}
    small["jobDriver"] = {"sparkSubmit": {key[0].lower() + key[1:]: value for key, value in submit.items()}}

    validate_parameters({**small, "clientToken": "t"}, operation.input_shape)
    assert run["ClientToken"] == "<aws.scheduler.execution-id>"
    assert runs[name]["ExecutionRoleArn"] == f"<{role_of_job(emr, name)}.Arn>"
    assert entry.read(submit["EntryPointArguments"])[0] == name


def not_started(emr):
    (queue,) = (name for name in emr.of_type("AWS::SQS::Queue") if name.startswith("AnalyticsEmrNotStarted"))
    return queue


def test_a_run_that_cannot_be_started_goes_to_a_dead_letter_queue_with_an_alarm(emr):
    targets = [each["Properties"]["Target"] for each in emr.of_type("AWS::Scheduler::Schedule").values()]
    alarm = emr.named("AWS::CloudWatch::Alarm", "MonitoringSchedulesDeadLetters")["Properties"]

    assert len(targets) == len(SCHEDULED)
    assert {each["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0] for each in targets} == {not_started(emr)}
    assert alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0] == not_started(emr)


def test_what_a_person_needs_to_start_a_run_is_said(emr):
    outputs = emr.template["Outputs"]
    roles = json.loads(flat(outputs["PipelineRoles"]["Value"]))

    assert {"PipelineApplicationId", "PipelineScript", "PipelineBucket"} <= outputs.keys()
    assert roles == {job.label: f"<{role_of_job(emr, job.name)}.Arn>" for job in JOBS}


def test_the_jobs_on_emr_are_deployed_as_they_were_last_looked_at(emr, snapshot: SnapshotAssertion):
    assert ours(emr) == snapshot.use_extension(JSONSnapshotExtension)
