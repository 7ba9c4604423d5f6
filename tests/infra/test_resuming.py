"""From the bus to the task that waits: the rule, its queue, and how long an event is tried."""

from __future__ import annotations

import json
import re

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template
from moto.events.models import EventPattern

from fanin.tracker.events import EVENT_TYPES
from fanin_cdk import FaninTracker
from fanin_cdk.settings.config import ConfigError
from infra.paths import ROOT
from tests.infra.conftest import DURABLE_FUNCTION, STATE_MACHINE

DAY = 24 * 3600


@pytest.fixture(scope="module")
def rule(full):
    return full.named("AWS::Events::Rule", "Resuming")["Properties"]


@pytest.fixture(scope="module")
def passes(rule):
    return EventPattern.load(json.dumps(rule["EventPattern"])).matches_event


def event(detail_type, detail, source="fanin"):
    return {"version": "0", "source": source, "detail-type": detail_type, "detail": detail}


@pytest.mark.parametrize("detail_type", EVENT_TYPES.values())
def test_each_end_of_a_batch_with_a_token_resumes_its_task(passes, detail_type):
    assert passes(event(detail_type, {"batchId": "0199", "resumes": True}))


@pytest.mark.parametrize(
    "other",
    [
        event("BatchCompleted", {"batchId": "0199"}),
        event("BatchCompleted", {"batchId": "0199", "resumes": False}),
        event("BatchCompleted", {"batchId": "0199", "resumes": True}, source="theirs"),
        event("TaskFailed", {"taskId": "0199", "resumes": True}),
    ],
)
def test_no_other_event_does(passes, other):
    assert not passes(other)


def test_an_event_is_tried_for_a_day_and_then_goes_to_the_dead_letter_queue(full, rule):
    (target,) = rule["Targets"]
    queue = full.template["Resources"][target["Arn"]["Fn::GetAtt"][0]]["Properties"]
    receives = int(queue["RedrivePolicy"]["maxReceiveCount"])

    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": DAY, "MaximumRetryAttempts": 185}
    assert target["DeadLetterConfig"]["Arn"] == queue["RedrivePolicy"]["deadLetterTargetArn"]
    assert DAY <= (receives - 1) * int(queue["VisibilityTimeout"]) <= DAY + int(queue["VisibilityTimeout"])
    assert receives <= 1000


def test_the_durable_function_of_the_page_may_be_resumed():
    page = (ROOT / "docs" / "durable_functions.md").read_text()
    (block,) = re.findall(r"<!-- stack -->\n```python\n(.*?)```", page, re.DOTALL)
    code = block.replace('from_asset("orders")', 'from_inline("yours")').replace(
        "orders.handler", "index.handler"
    )
    stack = cdk.Stack(cdk.App(context={"aws:cdk:bundling-stacks": []}), "Shop")
    tracker = FaninTracker(stack, "Fanin", results=True)
    mine = {"queue": sqs.Queue(stack, "Work"), "lake": s3.Bucket(stack, "Lake"), "tracker": tracker}
    exec(code, {"cdk": cdk, "lambda_": lambda_, "self": stack, **mine})  # noqa: S102
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    allowed = {
        (name.startswith("Orders"), action)
        for name, policy in policies.items()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in actions_of(statement)
    }

    assert {(False, "lambda:SendDurableExecutionCallbackSuccess"), (True, "sqs:SendMessage")} <= allowed
    assert {(True, "dynamodb:PutItem"), (True, "s3:GetObject")} <= allowed


@pytest.mark.parametrize("setting", ["resumed_state_machines", "resumed_durable_functions"])
def test_nothing_of_another_region_can_be_resumed(setting):
    arns = {"resumed_state_machines": STATE_MACHINE, "resumed_durable_functions": DURABLE_FUNCTION}
    stack = cdk.Stack(cdk.App(), "Shop", env=cdk.Environment(region="us-east-1"))

    with pytest.raises(ConfigError, match="is not in us-east-1, where the stack is deployed"):
        FaninTracker(stack, "Fanin", **{setting: [arns[setting]]})


def actions_of(statement):
    actions = statement["Action"]
    return actions if isinstance(actions, list) else [actions]
