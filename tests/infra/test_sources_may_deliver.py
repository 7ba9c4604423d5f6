"""Every service that delivers to a topic, queue, function or key of the template is allowed to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.infra.options import CONFIGURED, EVERYTHING
from tests.infra.synthesis import Assembly, synthesised

ENFORCE_TLS = {"Bool": {"aws:SecureTransport": "false"}}
STAGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "configured": CONFIGURED,
    "everything": EVERYTHING,
    "emr": {**EVERYTHING, "analytics": "emr"},
}
# What a service does to a target that has a policy of its own, by the type of the target.
DELIVERS = {
    "AWS::SNS::Topic": "sns:Publish",
    "AWS::SQS::Queue": "sqs:SendMessage",
    "AWS::Lambda::Function": "lambda:InvokeFunction",
}
POLICIES = {
    "AWS::SNS::TopicPolicy": "Topics",
    "AWS::SQS::QueuePolicy": "Queues",
    "AWS::S3::BucketPolicy": "Bucket",
}
ENCRYPT_LOGS = "kms:GenerateDataKey*"


@dataclass(frozen=True, order=True)
class Delivery:
    """*action* by *principal* on the resource *target*: a service as the AWS documents name it, or a role."""

    principal: str
    action: str
    target: str


def referred(value: Any) -> str:
    """The logical id that *value* refers to; empty where it is of no resource of the template."""
    match value:
        case {"Ref": name} | {"Fn::GetAtt": [name, *_]}:
            return str(name)
        case {"Fn::Join": [_, parts]}:
            return next((name for part in parts if (name := referred(part))), "")
    return ""


def of_rules(assembly: Assembly) -> set[tuple[str, str]]:
    """(principal, target) of EventBridge rules: by itself, or as a role where the target names one."""
    found = set()
    for rule in assembly.of_type("AWS::Events::Rule").values():
        for target in rule["Properties"]["Targets"]:
            found.add((referred(target.get("RoleArn")) or "events.amazonaws.com", referred(target["Arn"])))
            found.add(("events.amazonaws.com", referred(target.get("DeadLetterConfig", {}).get("Arn"))))
    return found


def of_alarms(assembly: Assembly) -> set[tuple[str, str]]:
    alarms = assembly.of_type("AWS::CloudWatch::Alarm").values()
    kinds = ("AlarmActions", "OKActions", "InsufficientDataActions")
    actions = [action for alarm in alarms for kind in kinds for action in alarm["Properties"].get(kind, [])]
    return {("cloudwatch.amazonaws.com", referred(action)) for action in actions}


def of_the_api(assembly: Assembly) -> set[tuple[str, str]]:
    integrations = assembly.of_type("AWS::ApiGatewayV2::Integration").values()
    uris = [each["Properties"]["IntegrationUri"] for each in integrations]
    return {("apigateway.amazonaws.com", referred(uri)) for uri in uris}


def of_failed_invocations(assembly: Assembly) -> set[tuple[str, str]]:
    """Lambda sends what failed to a destination as the function's role."""
    functions = assembly.of_type("AWS::Lambda::Function")
    kinds = ("AWS::Lambda::EventInvokeConfig", "AWS::Lambda::EventSourceMapping")
    configured = [each["Properties"] for kind in kinds for each in assembly.of_type(kind).values()]
    return {
        (
            referred(functions[referred(each["FunctionName"])]["Properties"]["Role"]),
            referred(each["DestinationConfig"]["OnFailure"]["Destination"]),
        )
        for each in configured
        if "DestinationConfig" in each
    }


def deliveries(assembly: Assembly) -> set[Delivery]:
    """All that services bring to a resource of the template."""
    resources = assembly.template["Resources"]
    sources = (of_rules, of_alarms, of_the_api, of_failed_invocations)
    pairs = {pair for source in sources for pair in source(assembly) if pair[1]}
    return {
        Delivery(who, DELIVERS[resources[target]["Type"]], target)
        for who, target in pairs
        if resources[target]["Type"] in DELIVERS
    } | encrypted_logs(assembly)


def encrypted_logs(assembly: Assembly) -> set[Delivery]:
    groups = [each["Properties"] for each in assembly.of_type("AWS::Logs::LogGroup").values()]
    keys = {referred(each["KmsKeyId"]) for each in groups if "KmsKeyId" in each}
    return {Delivery("logs.amazonaws.com", ENCRYPT_LOGS, key) for key in keys}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def services(principal: Any) -> list[str]:
    """The services of a statement's principal; the regional name of one is the same service."""
    named = listed(principal.get("Service", [])) if isinstance(principal, dict) else []
    return [
        "logs.amazonaws.com" if isinstance(each, dict) and "logs." in str(each) else each for each in named
    ]


def allowed_by_resources(assembly: Assembly) -> set[Delivery]:
    """What the policies of topics, queues, buckets and keys, and the permissions of functions allow."""
    found = set()
    for kind, of in POLICIES.items():
        for policy in assembly.of_type(kind).values():
            for target in listed(policy["Properties"][of]):
                found |= granted(policy["Properties"]["PolicyDocument"], referred(target))
    for name, key in assembly.of_type("AWS::KMS::Key").items():
        found |= granted(key["Properties"]["KeyPolicy"], name)
    for permission in assembly.of_type("AWS::Lambda::Permission").values():
        properties = permission["Properties"]
        found.add(
            Delivery(properties["Principal"], properties["Action"], referred(properties["FunctionName"]))
        )
    return found


def granted(document: dict[str, Any], target: str) -> set[Delivery]:
    return {
        Delivery(service, action, target)
        for statement in document["Statement"]
        if statement["Effect"] == "Allow"
        for service in services(statement["Principal"])
        for action in listed(statement["Action"])
    }


def allowed_by_roles(assembly: Assembly) -> set[Delivery]:
    return {
        Delivery(referred(role), action, referred(resource))
        for policy in assembly.of_type("AWS::IAM::Policy").values()
        for role in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


@pytest.mark.parametrize("stage", STAGES)
def test_every_delivery_of_a_service_is_allowed(stage: str) -> None:
    assembly = synthesised(**STAGES[stage])
    allowed = allowed_by_resources(assembly) | allowed_by_roles(assembly)

    wanted = deliveries(assembly)
    assert {each.principal for each in wanted} >= {
        "cloudwatch.amazonaws.com",
        "events.amazonaws.com",
        "apigateway.amazonaws.com",
    }
    assert sorted(wanted - allowed) == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_resource_policy_denies_plain_http_and_nothing_else(stage: str) -> None:
    assembly = synthesised(**STAGES[stage])
    denials = [
        statement
        for kind in POLICIES
        for policy in assembly.of_type(kind).values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
    ]

    assert denials
    assert [each["Condition"] for each in denials] == [ENFORCE_TLS] * len(denials)


def test_alarms_of_this_account_and_region_alone_may_publish(default: Assembly) -> None:
    (topic,) = default.of_type("AWS::SNS::Topic")
    policy = default.only("AWS::SNS::TopicPolicy")["Properties"]["PolicyDocument"]
    (statement,) = (each for each in policy["Statement"] if each["Effect"] == "Allow")

    account, region = {"Ref": "AWS::AccountId"}, {"Ref": "AWS::Region"}
    alarms = ["arn:", {"Ref": "AWS::Partition"}, ":cloudwatch:", region, ":", account, ":alarm:*"]
    assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statement["Action"] == "sns:Publish"
    assert statement["Resource"] == {"Ref": topic}
    assert statement["Condition"] == {
        "StringEquals": {"aws:SourceAccount": account},
        "ArnLike": {"aws:SourceArn": {"Fn::Join": ["", alarms]}},
    }
