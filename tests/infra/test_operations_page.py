"""The pages of operations: runbooks against alarms, statements against code, commands against AWS models."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

import pytest
from botocore import xform_name
from botocore.session import Session
from moto import mock_aws

from fanin.names import JOB_DEAD, JOBS_INDEX, doorbell_prefix
from fanin.pacing import each_in_turn
from fanin.queue import Effects, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.administration.raising import raise_parts
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from fanin_cdk.grants.handlers import CONSUME_ACKS, ROUTES
from fanin_cdk.settings.concurrency import shares
from fanin_cdk.settings.config import ByName
from infra.paths import ROOT
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.infra.options import CALLBACKS
from tests.infra.sending import Sent
from tests.infra.shop import shop
from tests.infra.synthesis import Assembly, synthesised, tracker_config
from tests.infra.test_alarms import alarms, series_of
from tests.item_ids import item_named

RUNBOOKS = "docs/runbooks.md"
PAGES = ("docs/operations.md", "docs/operations_reference.md", RUNBOOKS)
PAGE = "".join((ROOT / name).read_text() for name in PAGES)
PARTS = ("Means", "Look", "Do")
ARN = re.compile(r"arn:aws:[a-z-]+:REGION:ACCOUNT:[\w/$*:.-]+")


def anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def runbooks() -> dict[str, str]:
    """The text of each runbook by its anchor."""
    text = PAGE.partition("\n## Runbooks\n")[2]
    assert "\n## " not in text
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
    return {anchor(heading): body for heading, body in zip(parts[::2], parts[1::2], strict=True)}


def test_each_alarm_links_to_its_runbook_and_each_runbook_has_an_alarm(on_emr: Assembly) -> None:
    of_all = (*alarms(on_emr).values(), *alarms(shop()[0]).values())
    described = [alarm["Properties"]["AlarmDescription"] for alarm in of_all]
    linked = [re.fullmatch(rf"(.+)\. What to do: {RUNBOOKS}#([a-z-]+)", text) for text in described]

    assert all(linked)
    assert {match[2] for match in linked if match} == runbooks().keys()
    # CloudWatch takes 1,024 characters.
    assert max(len(text) for text in described) < 1024


@pytest.mark.parametrize("name", sorted(runbooks()))
def test_a_runbook_says_what_it_means_how_to_look_and_what_to_do(name: str) -> None:
    found = re.findall(r"^\*\*(\w+)\.\*\* \S", runbooks()[name], re.MULTILINE)

    assert tuple(found) == PARTS


@pytest.mark.parametrize("preset", ["lean", "full"])
def test_the_page_counts_the_alarms_of_a_default_stack(preset: str) -> None:
    found = alarms(synthesised(monitoring=preset))
    metrics = sum(len(series_of(alarm)) for alarm in found.values())

    assert f"| {len(found)} alarms on {metrics} metrics |" in PAGE


def test_a_users_name_of_a_queue_is_no_part_of_an_anchor(configured: Assembly) -> None:
    described = [alarm["Properties"]["AlarmDescription"] for alarm in alarms(configured).values()]

    assert {text.rpartition("#")[2] for text in described} <= runbooks().keys()


def policy_under(heading: str) -> dict[str, Any]:
    """The policy in the section *heading*."""
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    (text,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    policy: dict[str, Any] = json.loads(text)
    return policy


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def grants(heading: str) -> set[tuple[str, str]]:
    """(action, resource) of a policy; the resource without the beginning of its ARN."""
    return {
        (action, resource.partition(":ACCOUNT:")[2])
        for statement in policy_under(heading)["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


@pytest.mark.parametrize("heading", ["API callers", "Fanin.direct", "Queue workers"])
def test_a_policy_is_one_that_iam_accepts_and_grants_no_action_by_a_star(heading: str) -> None:
    policy = policy_under(heading)

    assert policy.keys() == {"Version", "Statement"}
    assert policy["Version"] == "2012-10-17"
    for statement in policy["Statement"]:
        assert statement.keys() == {"Effect", "Action", "Resource"}
        assert statement["Effect"] == "Allow"
        assert all(re.fullmatch(r"[a-z-]+:[A-Z]\w+", action) for action in listed(statement["Action"]))
        assert all(ARN.fullmatch(resource) for resource in listed(statement["Resource"]))


def test_callers_of_the_api_may_send_each_route_and_nothing_but_routes(on_emr: Assembly) -> None:
    routes = [each["Properties"]["RouteKey"] for each in on_emr.of_type("AWS::ApiGatewayV2::Route").values()]
    ((action, resource),) = grants("API callers")

    assert action == "execute-api:Invoke"
    assert resource.startswith("API_ID/$default/")
    for route in routes:
        assert fnmatchcase("API_ID/$default/" + route.replace(" ", ""), resource)
    assert "POST/v1/acks" in {route.replace(" ", "") for route in routes}


def test_a_direct_client_is_granted_what_the_routes_are_whose_use_cases_it_calls() -> None:
    """``test_grants_suffice`` compares the grants of each route with its requests."""
    granted: set[tuple[str, str]] = set()
    for route in ROUTES:
        granted |= {(action, "table/BATCHES_TABLE") for action in route.batches}
        granted |= {(action, "table/PAGES_TABLE") for action in route.pages}
        granted |= {("dynamodb:Query", f"table/BATCHES_TABLE/index/{name}") for name in route.indexes}

    assert grants("Fanin.direct") == granted


def test_a_consumer_that_acks_needs_what_the_page_says_of_it() -> None:
    direct = {each for each in grants("Fanin.direct") if "/index/" not in each[1]}
    named = {each for each in direct if each[0] not in {"dynamodb:BatchWriteItem", "dynamodb:Query"}}

    granted = {(action, "table/BATCHES_TABLE") for action in CONSUME_ACKS.batches}
    assert named == granted | {(action, "table/PAGES_TABLE") for action in CONSUME_ACKS.pages}


ACCOUNT = "123456789012"
FUNCTION = f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:waits"
MACHINE = f"arn:aws:states:eu-west-1:{ACCOUNT}:stateMachine:waits"
PREFIX = f"arn:aws:sqs:eu-west-1:{ACCOUNT}:{doorbell_prefix('STAGE')}"
OF_BATCHES = {"SendMessageBatch": "SendMessage", "DeleteMessageBatch": "DeleteMessage"}
"""SQS requires the action of its members for a batch."""


class SentToSqs:
    """The SQS actions that a client sends."""

    def __init__(self, client: Any) -> None:
        self.actions: set[tuple[str, str]] = set()
        client.meta.events.register("provide-client-params.sqs", self._note)

    def _note(self, model: Any, params: Any, **_: Any) -> None:
        name = params.get("QueueName") or params["QueueUrl"].rpartition("/")[2]
        prefix = doorbell_prefix("STAGE")
        target = f"{prefix}*" if name.startswith(prefix) else name
        self.actions.add((f"sqs:{OF_BATCHES.get(model.name, model.name)}", target))


def worked(client: Any, sqs: Any) -> None:
    """All that a worker does with a queue, which it creates, and with one whose parts are raised."""
    store = DynamoStore(client, QUEUE_TABLE, pause=lambda _: None)
    key = QueueKey(ACCOUNT, "q")
    doorbell = SqsDoorbell(sqs, None, key)
    options = Options(parts=2, max_failures=1)
    creator = QueueCreator(store, SqsDoorbells(sqs, PREFIX))
    in_turn = Effects(each=each_in_turn)  # moto copies its tables in a transaction
    context = QueueContext(store, doorbell, key, options, in_turn, report=lambda _: None, creator=creator)
    with Queue(context, background=lambda _: lambda: None) as queue:
        queue.add_all(["a", "b", NewJob("item", item_id=item_named("x")), NewJob("later", delay=60), "a"])
        with suppress(ZeroDivisionError), queue.take(1, wait=0):
            raise ZeroDivisionError
        with queue.take(2, wait=0) as jobs:
            jobs.ack(jobs[0])
        with queue.take(10, wait=1) as jobs:
            queue.add(jobs[0].name if jobs else "c", on_busy="rerun")
        for look in (queue.queued, queue.in_progress, queue.delayed, queue.dead, queue.sessions):
            list(look())
        queue.depth()
        for dead in queue.dead():
            queue.revive(dead)
        queue.take(1, wait=0).__enter__()
        queue.sweep()
        raise_parts(store, context.effects, key, 8)
        context.read_config()
        queue.add_all(map(str, range(8)))


@pytest.fixture(scope="module")
def sent_by_a_worker() -> set[tuple[str, str]]:
    with mock_aws():
        client, sqs = moto_clients.client("dynamodb"), moto_clients.client("sqs")
        create_queue_table(client)
        of_table, of_doorbell = Sent(client), SentToSqs(sqs)
        worked(client, sqs)
    return {(action, f"table/{target}") for action, target in of_table.actions} | of_doorbell.actions


def test_a_worker_is_granted_what_it_sends_and_no_more(sent_by_a_worker: set[tuple[str, str]]) -> None:
    names = {QUEUE_TABLE: "QUEUE_TABLE"}
    sent = {
        (action, target.replace(f"table/{QUEUE_TABLE}", f"table/{names[QUEUE_TABLE]}"))
        for action, target in sent_by_a_worker
    }

    assert grants("Queue workers") == sent
    assert ("dynamodb:Query", f"table/QUEUE_TABLE/index/{JOBS_INDEX}") in sent


def test_the_page_names_what_the_key_of_the_construct_is_used_by() -> None:
    from fanin_cdk.grants import encryption

    section = PAGE.partition("\n### Queue workers\n")[2].partition("```json")[0]

    assert set(re.findall(r"`(kms:\w+)`", section)) == set(encryption.USE_KEY)


CUSTOM = {("logs", "tail"), ("dynamodb", "wait")}
"""Commands of the AWS CLI that are no single request."""


def commands() -> list[str]:
    return sorted(
        set(re.findall(r"^\s*(aws [^\n#]+)$", PAGE, re.MULTILINE)) | set(re.findall(r"`(aws [^`]+)`", PAGE))
    )


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_page_exists_with_its_options(command: str) -> None:
    _, service, name, *others = shlex.split(command)
    if (service, name) in CUSTOM:
        return
    model = Session().get_service_model(service)
    operations = {xform_name(each, "-"): each for each in model.operation_names}
    members = model.operation_model(operations[name]).input_shape.members
    flags = {xform_name(each, "-") for each in members}
    options = {option.removeprefix("--") for option in others if option.startswith("--")} - {"query"}

    assert {option.removeprefix("no-") for option in options} <= flags
    required = {
        xform_name(each, "-") for each in model.operation_model(operations[name]).input_shape.required_members
    }
    assert required <= {option.removeprefix("no-") for option in options}


def test_the_commands_of_the_page_are_read() -> None:
    assert len(commands()) >= 15


def test_the_shares_of_the_page_are_those_of_the_stack() -> None:
    new, raised = shares(tracker_config()), shares(tracker_config(lambda_concurrency=1000))
    archive = tracker_config(archive=True)

    assert f"| {new.consumer} each, the minimum of Lambda | {raised.consumer} each |" in PAGE
    assert f"| API | {new.api} | {raised.api} |" in PAGE
    assert f"`throttle_rate` is {new.rate}, then {raised.rate}" in PAGE
    assert f"the archive {shares(archive).needed} (" in PAGE
    assert f"`grouper_registrations` {shares(tracker_config(grouper_registrations=True)).needed}." in PAGE
    adding = (
        tracker_config(callbacks=ByName(json.dumps(CALLBACKS))),
        tracker_config(resumed_state_machines=(MACHINE,)),
        tracker_config(resumed_durable_functions=(FUNCTION,), resumed_state_machines=(MACHINE,)),
        tracker_config(resumed_durable_functions=(FUNCTION,)),
    )
    assert {shares(each).needed for each in adding} == {new.needed + 2}
    assert re.search(
        r"is \[resumed\][^.]+.md\), `publications`, [^.]+ and each webhook of `callbacks` add 2", PAGE
    )
    assert shares(tracker_config(events=(JOB_DEAD,))).needed == new.needed + 1
    assert "the event `JobDead` 1." in PAGE


def test_the_page_says_what_all_routes_admit_if_each_has_the_rate(default: Assembly) -> None:
    stage, routes = default.only("AWS::ApiGatewayV2::Stage"), default.of_type("AWS::ApiGatewayV2::Route")
    rate = int(stage["Properties"]["DefaultRouteSettings"]["ThrottlingRateLimit"])

    assert f"the {len(routes)} routes of a default stack admit {rate * len(routes)} requests a second" in PAGE
    assert f"and not {rate};" in PAGE


def test_the_runbook_of_waiting_messages_names_each_queue_of_the_stack(on_emr: Assembly) -> None:
    waiting = [re.match(r"Monitoring(\w+?)Waiting", name) for name in alarms(on_emr)]
    queues = {match[1].replace("Webhooksshop", "Webhooks-NAME") for match in waiting if match}

    assert {"Acks", "Webhooks-NAME", "Resumes"} <= queues
    ours = {name for name in queues if not name.startswith(("orders", "mails"))}
    assert [name for name in sorted(ours) if f"`{name}`" not in runbooks()["waiting-messages"]] == []


def test_the_runbook_of_a_reader_s_lag_names_each_reader(on_emr: Assembly) -> None:
    lags = [name for name in alarms(on_emr) if name.startswith("Monitoring") and "Lag" in name]

    assert lags
    for name in lags:
        (reader,) = re.findall(r"^Monitoring(\w+?)Lag", name)
        assert f"`{reader}`" in runbooks()["stream-lag"]


def test_the_receives_of_the_page_are_those_of_the_template(default: Assembly) -> None:
    acks = default.named("AWS::SQS::Queue", "AcksQueue")["Properties"]
    bundles = default.named("AWS::SQS::Queue", "GrouperBundleMessagesQueue")["Properties"]
    sentences = [
        f"{each['VisibilityTimeout']} s and {each['RedrivePolicy']['maxReceiveCount']}"
        for each in (acks, bundles)
    ]

    assert f"the acks queue has {sentences[0]} receives, bundles have {sentences[1]}." in PAGE
