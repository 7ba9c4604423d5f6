"""A stack of a user with the construct in it, every method called; built once for all tests."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.infra.synthesis import UNBUNDLED, Assembly, scratch_folder

PREFIX = "catalog-"


@functools.cache
def shop() -> tuple[Assembly, list[str], SimpleNamespace]:
    """The stack as synthesised, the findings of cdk-nag, and its constructs."""
    # Here, for loading the CDK starts a Node, which the collection of other tests need not wait for.
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks

    folder = scratch_folder()
    app = cdk.App(context=UNBUNDLED, outdir=str(folder))
    stack = cdk.Stack(app, "Shop")
    parts = connected(stack)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    template: dict[str, Any] = dict(app.synth().get_stack_by_name("Shop").template)
    return Assembly(template, folder), findings(folder), parts


def findings(folder: Path) -> list[str]:
    """What cdk-nag found, and did not raise; not the warning of settings that share few executions."""
    report = json.loads((folder / "validation-report.json").read_text())
    found = [
        f"{each['ruleName']} {resource['constructPath']}"
        for plugin in report["pluginReports"]
        for each in plugin["violations"]
        for resource in each["violatingConstructs"]
    ]
    return [each for each in found if "lambda_concurrency" not in each]


def connected(stack: Any) -> SimpleNamespace:
    """A queue with its worker, a loader and a state machine, connected to a tracker; a second tracker."""
    from aws_cdk import Duration
    from aws_cdk import aws_events_targets as targets
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_
    from aws_cdk import aws_sns as sns

    from fanin_cdk import FaninTracker

    loader, worker, viewer, caller = (
        function(stack, name) for name in ("Loader", "Worker", "Viewer", "Caller")
    )
    work, finished = queue(stack, "Work", Duration.seconds(180)), queue(stack, "Done", None)
    alarms = sns.Topic(stack, "AlarmTopic", enforce_ssl=True)
    key = kms.Key(stack, "Key", enable_key_rotation=True)
    tracker = FaninTracker(stack, "Fanin", protect_data=True, alarms=alarms, monitoring="full")
    tracker.grant_publish(loader)
    tracker.grant_read(viewer)
    tracker.grant_call_api(caller, "POST /v1/batches", "GET /v1/batches/{batchId}")
    tracker.consume(work, worker)
    tracker.on_completed(targets.SqsQueue(finished), user_key_prefix=PREFIX)
    own = targets.SqsQueue(finished, retry_attempts=3)
    tracker.on_ended(own, id="Ends")
    machine = state_machine(stack)
    durable = lambda_.DurableConfig(execution_timeout=Duration.hours(1))
    tracker.resumes(machine)
    tracker.resumes(function(stack, "Durable", durable_config=durable).current_version)
    encrypted = FaninTracker(
        stack, "Encrypted", api=None, archive=True, encryption_key=key, job_queues=["thumbs"], queues=True
    )
    encrypted.grant_ack(function(stack, "Acker"))
    encrypted.grant_add_jobs(loader, "thumbs")
    encrypted.consume_jobs("thumbs", function(stack, "Thumbs"))
    return SimpleNamespace(tracker=tracker, encrypted=encrypted, machine=machine)


def function(stack: Any, name: str, **options: Any) -> Any:
    """A function of the user, with a role that cdk-nag accepts."""
    from aws_cdk import Duration
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_lambda as lambda_

    role = iam.Role(stack, f"{name}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    given = {
        "runtime": lambda_.Runtime.PYTHON_3_14,
        "handler": "index.handler",
        "code": lambda_.Code.from_inline("def handler(event, context): ..."),
        "timeout": Duration.seconds(30),
        "role": role,
        **options,
    }
    return lambda_.Function(stack, name, **given)


def queue(stack: Any, name: str, visibility: Any, **options: Any) -> Any:
    """A queue of the user with a dead-letter queue."""
    from aws_cdk import aws_sqs as sqs

    dead = sqs.Queue(stack, f"{name}Dead", enforce_ssl=True)
    lost = sqs.DeadLetterQueue(queue=dead, max_receive_count=3)
    return sqs.Queue(
        stack, name, enforce_ssl=True, visibility_timeout=visibility, dead_letter_queue=lost, **options
    )


def state_machine(stack: Any) -> Any:
    from aws_cdk import aws_logs as logs
    from aws_cdk import aws_stepfunctions as stepfunctions

    from fanin_cdk.nag import accept

    machine = stepfunctions.StateMachine(
        stack,
        "Machine",
        definition_body=stepfunctions.DefinitionBody.from_chainable(stepfunctions.Pass(stack, "Pass")),
        tracing_enabled=True,
        logs=stepfunctions.LogOptions(
            destination=logs.LogGroup(stack, "Log"), level=stepfunctions.LogLevel.ALL
        ),
    )
    accept(machine, "The CDK's grants for logs and X-Ray", "AwsSolutions-IAM5[Resource::*]")
    return machine
