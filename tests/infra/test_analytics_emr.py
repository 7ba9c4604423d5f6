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
from tests.infra.test_analytics import asset_of, engine, expected, flat, granted, names_in, ours

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


def properties(defaults):
    (spark,) = defaults
    assert spark["Classification"] == "spark-defaults"
    return spark["Properties"]


def test_every_run_has_the_zip_and_workers_of_one_size(emr, application):
    defaults = properties(application["RuntimeConfiguration"])

    assert "pipeline/jobs/audit.py" in names_in(asset_of(emr, defaults["spark.submit.pyFiles"]))
    assert {defaults[f"spark.{who}.cores"] for who in ("driver", "executor")} == {"4"}
    # One of the seven workers is the driver.
    assert defaults["spark.dynamicAllocation.maxExecutors"] == "6"


def test_the_log_is_encrypted(emr, application):
    log = application["MonitoringConfiguration"]["CloudWatchLoggingConfiguration"]
    (group,) = (
        each["Properties"]
        for name, each in emr.of_type("AWS::Logs::LogGroup").items()
        if log["LogGroupName"] == {"Ref": name}
    )

    assert log["Enabled"] is True
    assert group["KmsKeyId"] == {"Fn::GetAtt": [next(iter(emr.of_type("AWS::KMS::Key"))), "Arn"]}


@pytest.mark.parametrize("name", [job.name for job in JOBS])
def test_a_job_may_do_the_same_as_on_glue(emr, name):
    found = granted(emr, role_of_job(emr, name))
    beside = {each for each in found if each[0].startswith(("logs:", "execute-api:"))}
    code = {each for each in found if "cdk-hnb659fds-assets" in each[1]}

    assert found - beside - code == expected(emr, name)
    assert {action for action, resource in beside if "log-group:*" in resource} == {"logs:DescribeLogGroups"}


def test_only_emr_of_this_account_may_take_the_roles(emr):
    for job in JOBS:
        role = emr.template["Resources"][role_of_job(emr, job.name)]["Properties"]
        (trust,) = role["AssumeRolePolicyDocument"]["Statement"]

        assert flat(trust["Principal"]["Service"]) == "emr-serverless.amazonaws.com"
        assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


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


def test_the_scheduler_starts_runs_of_this_application_as_these_jobs_alone(emr):
    (starter,) = (role for role in emr.of_type("AWS::IAM::Role") if role.startswith("AnalyticsEmrStarter"))
    (application,) = emr.of_type("AWS::EMRServerless::Application")

    assert granted(emr, starter) == {
        ("emr-serverless:StartJobRun", f"<{application}.Arn>"),
        *(("iam:PassRole", f"<{role_of_job(emr, name)}.Arn>") for name in SCHEDULED),
        ("sqs:SendMessage", f"<{not_started(emr)}.Arn>"),
    }


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
