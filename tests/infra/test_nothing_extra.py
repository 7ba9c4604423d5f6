"""Each action that a role is granted is seen in a request of its handler, or a service uses it by itself."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest

from fanin.aws import clients
from fanin.queue import NewJob
from fanin_cdk.grants.job_handlers import JOB_ROUTES, SWEEP_JOBS
from tests.crashes import job_scenarios
from tests.crashes.account import CLIENTS, Account, opened
from tests.crashes.naming import CONSUMER
from tests.crashes.scenario import Context, Delivery, Scenario
from tests.crashes.scenarios import SCENARIOS
from tests.fuzz import records
from tests.fuzz.deployment import deployment
from tests.fuzz.granting import BATCHES_OF
from tests.infra.options import EVERYTHING
from tests.infra.synthesis import handler_of, synthesised
from tests.infra.test_functions import SERVED, grants_of, role_of

DELIVERIES = 8


@dataclass(frozen=True)
class Use:
    """Actions that *role*, a pattern, is granted because a service uses them."""

    role: str
    actions: set[str]
    why: str


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


class Recorder:
    """Notes which actions each handler asks for, but for those of DynamoDB."""

    def __init__(self) -> None:
        self.handler = ""
        self.asked: dict[str, set[str]] = defaultdict(set)

    def listen(self, made: Iterable[Callable[[], Any]]) -> None:
        """Listen to the clients that *made* make."""
        for each in made:
            each().meta.events.register("provide-client-params", self._note)

    def _note(self, model: Any, **_: Any) -> None:
        service, operation = model.service_model.signing_name, model.name
        if self.handler:
            self.asked[self.handler].add(f"{service}:{BATCHES_OF.get(operation, operation)}")

    @contextmanager
    def of(self, handler: str) -> Iterator[None]:
        """Note what is sent as that of *handler*."""
        self.handler = handler
        try:
            with redirect_stdout(io.StringIO()):
                yield
        finally:
            self.handler = ""


def failing_job(account: Account) -> Delivery:
    """Add a job that its consumer cannot read, and return its ring."""
    job_scenarios.with_jobs(0)
    job_scenarios.queue().add_all([NewJob("job", payload="[]")])
    return job_scenarios.delivered(job_scenarios._doorbell(account), account)


FAILING = Scenario(CONSUMER, "a job that fails", failing_job)


def crash_scenarios(recorder: Recorder) -> None:
    """Run each handler through the scenarios of the crash sweep, undisturbed."""
    with opened() as account:
        recorder.listen(CLIENTS)
        for scenario in (*SCENARIOS, FAILING):
            empty = account.save()
            delivery = scenario.prepare(account)
            account.restart()
            with recorder.of(scenario.handler), suppress(ValueError):
                delivery.invoke(scenario.handler, Context())
            account.restore(empty)


def fuzzed_deliveries(recorder: Recorder) -> None:
    """Send the consumers deliveries with broken messages, at their first receive and at later ones."""
    called = records._called

    def noted(judge: records.Judge, handler: str, *rest: Any) -> Any:
        with recorder.of(handler):
            return called(judge, handler, *rest)

    with deployment(), patch.object(records, "_called", noted):
        recorder.listen((clients.sqs, clients.events, clients.s3))
        records.run(DELIVERIES, seed=1)


@pytest.fixture(scope="module")
def asked() -> dict[str, set[str]]:
    """The actions of each handler and each function of several. For doorbells: tests/infra/test_jobs.py."""
    recorder = Recorder()
    crash_scenarios(recorder)
    fuzzed_deliveries(recorder)
    for handler in (*JOB_ROUTES, SWEEP_JOBS):
        recorder.asked[handler.lambda_.name] |= set(handler.doorbells)
    by_function = {name: set().union(*map(recorder.asked.get, served)) for name, served in SERVED.items()}
    return recorder.asked | by_function


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
        left = granted - asked.get(handler, set()) - by_services
        found += [
            f"{kind.strip()}: {each}" for each in sorted(left) if not re.match(r"dynamodb:(?!.*Stream)", each)
        ]
    return found


@pytest.fixture(scope="module", params=["glue", "emr"])
def deployed(request: pytest.FixtureRequest) -> Any:
    return synthesised(**{**EVERYTHING, "analytics": request.param})


def test_every_action_of_every_role_is_asked_for_or_used_by_a_service(deployed, asked):
    assert unused(deployed, asked) == []


def test_every_use_by_a_service_is_granted_somewhere():
    assemblies = [synthesised(**{**EVERYTHING, "analytics": each}) for each in ("glue", "emr")]
    granted = {
        (use.why, action)
        for assembly in assemblies
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
