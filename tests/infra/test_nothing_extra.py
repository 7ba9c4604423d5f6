"""Each action that a role is granted is seen in a request of its handler, or a service uses it by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from fanin_cdk.grants.job_handlers import JOB_ROUTES, SWEEP_JOBS
from tests.infra.requests_sent import requests_sent
from tests.infra.synthesis import handler_of
from tests.infra.test_functions import SERVED, grants_of, role_of


@dataclass(frozen=True)
class Use:
    """Actions that *role*, a pattern, is granted because a service uses them."""

    role: str
    actions: set[str]
    why: str


ALLOWED_BY = {"s3:ListObjectsV2": "s3:ListBucket", "s3:DeleteObjects": "s3:DeleteObject"}
"""The action that allows a request of another name."""
BY_SERVICES = [
    Use("function", {"logs:CreateLogStream", "logs:PutLogEvents"}, "Lambda writes what a function prints"),
    Use("function", {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, "Lambda sends the trace"),
    Use(
        "consumer",
        {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
        "Lambda's event source mapping polls the queue with the function's role",
    ),
    Use(
        "consumer",
        {"sqs:ChangeMessageVisibility", "sqs:GetQueueUrl"},
        "CDK's event source grants them with the others, on the function's own queue",
    ),
    Use("reader of a stream", {"sqs:SendMessage"}, "its event source mapping reports what it gave up"),
    Use(
        "confirm_event", {"sqs:SendMessage"}, "Lambda sends events that failed to the function's destination"
    ),
    Use(
        "reader of a stream|confirm_event",
        {"sqs:GetQueueAttributes", "sqs:GetQueueUrl"},
        "CDK's destination grants them with the sending, on its dead-letter queue",
    ),
    Use(
        "reader of a stream",
        {
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        },
        "the event source mapping reads the stream",
    ),
    Use(
        "read_batches",
        {"s3:GetObject", "s3:PutObject", "s3:ListBucket"},
        "the first who reads results gathers them: tests/infra/test_results.py",
    ),
    Use("continue_publication", {"s3:ListBucket"}, "without it S3 answers 403 for an object that is missing"),
    Use(
        "AnalyticsEmrStarter",
        {"emr-serverless:StartJobRun", "iam:PassRole"},
        "EventBridge Scheduler starts the runs",
    ),
    Use(
        "Analytics(Glue|Emr)",
        {
            "s3:GetBucketLocation",
            "s3:ListBucket",
            "s3:GetObject",
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
        },
        "Spark reads its code and datasets, and commits files by parts; tests have local files",
    ),
    Use(
        "AnalyticsGlue",
        {
            "logs:AssociateKmsKey",
            "logs:CreateLogGroup",
            "logs:CreateLogStream",
            "logs:PutLogEvents",
            "kms:Decrypt",
            "kms:Encrypt",
            "kms:GenerateDataKey",
        },
        "Glue writes the logs of a run, and encrypts them and what it spills",
    ),
    Use(
        "AnalyticsEmr",
        {"logs:DescribeLogGroups", "logs:DescribeLogStreams", "logs:CreateLogStream", "logs:PutLogEvents"},
        "EMR Serverless writes the logs of a run",
    ),
    Use(
        "Analytics(Glue|Emr)",
        {"sqs:SendMessage"},
        "executors send messages to the queues of the setting: tests/pipeline/fan_out sees them",
    ),
]


@pytest.fixture(scope="module")
def asked() -> dict[str, set[str]]:
    """The actions of each handler and each function of several. For doorbells: tests/infra/test_jobs.py."""
    sent = requests_sent()
    asked = {handler: {ALLOWED_BY.get(action, action) for action, _ in sent[handler]} for handler in sent}
    for handler in (*JOB_ROUTES, SWEEP_JOBS):
        asked[handler.lambda_.name] |= set(handler.doorbells)
    return asked | {
        name: set().union(*(asked.get(each, set()) for each in served)) for name, served in SERVED.items()
    }


def roles_of(assembly: Any) -> Iterator[tuple[str, str, str]]:
    """Yield each role with the handler of its function, if it has one, and with what kind of a role it is."""
    functions = assembly.of_type("AWS::Lambda::Function").values()
    handlers = {role_of(each["Properties"]): handler_of(each) for each in functions}
    sources = [each["Properties"] for each in assembly.of_type("AWS::Lambda::EventSourceMapping").values()]
    by_name = {name: handler_of(each) for name, each in assembly.of_type("AWS::Lambda::Function").items()}
    streams = {by_name[each["FunctionName"]["Ref"]] for each in sources if "StartingPosition" in each}
    consumers = {by_name[each["FunctionName"]["Ref"]] for each in sources} - streams
    for role in assembly.of_type("AWS::IAM::Role"):
        handler = handlers.get(role, "")
        kind = "reader of a stream" if handler in streams else "consumer" if handler in consumers else ""
        yield role, handler, f"{role} {'function' if handler else ''} {kind} {handler}"


def unused(assembly: Any, asked: dict[str, set[str]], uses: Sequence[Use] = BY_SERVICES) -> list[str]:
    """Return what is granted beside DynamoDB, and neither asked for nor used by a service."""
    found = []
    for role, handler, kind in roles_of(assembly):
        granted = {action for actions, _ in grants_of(assembly, role) for action in actions}
        by_services = {action for use in uses if re.search(use.role, kind) for action in use.actions}
        unused_grants = granted - asked.get(handler, set()) - by_services
        found += [
            f"{kind.strip()}: {each}"
            for each in sorted(unused_grants)
            if not re.match(r"dynamodb:(?!.*Stream)", each)
        ]
    return found


@pytest.fixture(scope="module", params=["everything", "on_emr"])
def deployed(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_every_action_of_every_role_is_asked_for_or_used_by_a_service(deployed, asked):
    assert unused(deployed, asked) == []


def test_every_use_by_a_service_is_granted_somewhere(everything, on_emr):
    granted = {
        (use.why, action)
        for assembly in (everything, on_emr)
        for role, _, kind in roles_of(assembly)
        for use in BY_SERVICES
        if re.search(use.role, kind)
        for actions, _ in grants_of(assembly, role)
        for action in use.actions & set(actions)
    }

    assert {(use.why, action) for use in BY_SERVICES for action in use.actions} == granted


def test_an_action_that_no_request_needs_is_found(deployed, asked):
    less = {handler: actions - {"events:PutEvents"} for handler, actions in asked.items()}

    assert {each.rpartition(" ")[0].split()[-1] for each in unused(deployed, less)} == {
        "handle_bundle:",
        "publish_dead_jobs:",
        "publish_endings:",
    }
    assert unused(deployed, asked, uses=BY_SERVICES[1:])
