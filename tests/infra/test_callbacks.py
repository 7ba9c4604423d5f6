"""The rules of callbacks: which events they take, whose, and where those go that are not delivered."""

from __future__ import annotations

import json

import pytest

from fanin_cdk.settings.config import ConfigError
from infra.config import StackConfig
from tests.infra.options import CALLBACKS, PROD, SECRET
from tests.infra.synthesis import Assembly, handler_of, synthesised

OWN = {"Ref": "AWS::AccountId"}
DAY_SECONDS = 86_400
LOCAL = {"name": "here", "url": "http://127.0.0.1:8080/", "secret": SECRET}


@pytest.fixture(scope="module")
def rules(full: Assembly) -> dict[str, dict]:
    return rules_of(full)


def rules_of(assembly: Assembly) -> dict[str, dict]:
    """The properties of the rules by the callback that they take."""
    found = [each["Properties"] for each in assembly.of_type("AWS::Events::Rule").values()]
    of_callbacks = [each for each in found if "callback" in each.get("EventPattern", {}).get("detail", {})]
    return {each["EventPattern"]["detail"]["callback"][0]: each for each in of_callbacks}


def target(rules, name):
    (found,) = rules[name]["Targets"]
    return found


def test_each_callback_has_a_rule_for_its_name_and_its_tenants(rules):
    details = {name: each["EventPattern"]["detail"] for name, each in rules.items()}

    assert all(each["EventPattern"]["source"] == ["fanin"] for each in rules.values())
    assert details == {
        "orders": {"callback": ["orders"], "tenant": [OWN]},
        "in-order": {"callback": ["in-order"], "tenant": ["acme", "shop"]},
        "people": {"callback": ["people"]},
        "shop": {"callback": ["shop"], "tenant": [OWN]},
    }


def test_queues_and_topics_get_the_detail_for_a_day_and_then_the_dead_letter_queue(full, rules):
    arns = {name: target(rules, name)["Arn"] for name in ("orders", "in-order", "people")}
    dead = {json.dumps(target(rules, name)["DeadLetterConfig"]["Arn"]) for name in rules}

    assert arns == {each["name"]: each.get("queue") or each["topic"] for each in CALLBACKS[:3]}
    assert len(dead) == 1
    assert "CallbacksDeadLetters" in dead.pop()
    for name in rules:
        assert target(rules, name)["InputPath"] == "$.detail"
        assert target(rules, name)["RetryPolicy"] == {
            "MaximumEventAgeInSeconds": DAY_SECONDS,
            "MaximumRetryAttempts": 185,
        }
        assert "RoleArn" not in target(rules, name), "a role fails with encrypted queues and topics"


def test_a_fifo_queue_has_a_message_group_and_no_other(rules):
    groups = {name: target(rules, name).get("SqsParameters") for name in rules}

    assert groups.pop("in-order") == {"MessageGroupId": "fanin"}
    assert set(groups.values()) == {None}


def mapping_of(assembly, queue):
    """The event source mapping of a queue."""
    (found,) = [
        each["Properties"]
        for each in assembly.of_type("AWS::Lambda::EventSourceMapping").values()
        if each["Properties"]["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    ]
    return found


def test_a_webhook_s_events_go_to_the_queue_of_the_function_that_calls_it(full, rules):
    (queue, _) = target(rules, "shop")["Arn"]["Fn::GetAtt"]
    mapping = mapping_of(full, queue)
    function = full.template["Resources"][mapping["FunctionName"]["Ref"]]
    properties = full.template["Resources"][queue]["Properties"]

    assert handler_of(function) == "call_webhook"
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BatchSize"] == 10
    assert properties["VisibilityTimeout"] == 6 * function["Properties"]["Timeout"]
    assert properties["RedrivePolicy"]["maxReceiveCount"] == 61
    assert properties["MessageRetentionPeriod"] == 14 * DAY_SECONDS


def test_each_webhook_has_a_queue_that_no_other_one_can_fill(configured):
    """An event that is retried for a day is in flight as long, and SQS takes 120,000 of a queue."""
    rules = rules_of(configured)
    targets = {name: target(rules, name)["Arn"]["Fn::GetAtt"][0] for name in ("a.b", "a_b", "ab")}
    called = {mapping_of(configured, queue)["FunctionName"]["Ref"] for queue in targets.values()}
    policies = [
        configured.template["Resources"][each]["Properties"]["RedrivePolicy"] for each in targets.values()
    ]

    assert len(set(targets.values())) == 3
    assert len(called) == len({json.dumps(each["deadLetterTargetArn"]) for each in policies}) == 1


def test_without_webhooks_no_function_calls_any():
    assembly = synthesised(**PROD)

    assert not [name for name in assembly.template["Resources"] if "Webhook" in name]
    assert len([name for name in assembly.template["Resources"] if name.startswith("CallbacksRule")]) == 3


def test_two_names_that_differ_in_punctuation_have_two_rules(configured):
    assert rules_of(configured).keys() == {"a.b", "a_b", "ab", "c.d", "c_d", "cd", "CD"}


def test_the_local_run_calls_a_webhook_on_this_machine():
    assert StackConfig(callbacks=json.dumps([LOCAL]), target="local").webhooks[0].is_local


@pytest.mark.parametrize(
    ("account", "region"), [("999999999999", "eu-west-1"), ("123456789012", "us-east-1"), (None, "us-east-1")]
)
def test_a_queue_or_topic_elsewhere_is_refused_where_the_place_of_the_stack_is_known(
    monkeypatch, tmp_path, account, region
):
    from infra.app import build

    monkeypatch.setenv("CDK_DEFAULT_REGION", region)
    if account:
        monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", account)
    with pytest.raises(ConfigError, match=r"callback orders: .* and EventBridge reaches no other place"):
        build({"callbacks": CALLBACKS}, str(tmp_path))


def test_a_queue_in_the_place_of_the_stack_is_accepted(monkeypatch, tmp_path):
    from infra.app import build

    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    _, stack = build({"callbacks": CALLBACKS, "aws:cdk:bundling-stacks": []}, str(tmp_path))

    assert len(stack.config.named_callbacks) == len(CALLBACKS)
