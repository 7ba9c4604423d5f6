"""The policies with which CloudFormation deploys the stack where it is no administrator."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from fanin_cdk.longest_values import Written
from infra.execution_policy import MOST_CHARACTERS, declared, length, main, policies, used
from infra.execution_resources import EVERYWHERE, MORE, OF_OTHER_SERVICES, TYPES, UNUSED
from infra.paths import ROOT
from tests.infra.synthesis import Assembly

ACCOUNT, REGION = "111122223333", "ap-southeast-1"  # a name of a region is no longer than 14 characters
POLICIES_OF_A_ROLE = 10
OF_NO_RESOURCE = {
    *EVERYWHERE,
    *(action for action, resources in MORE.items() if "*" in resources),
    "emr-serverless:CreateApplication",
    "glue:CreateSecurityConfiguration",
    "glue:DeleteSecurityConfiguration",
    "glue:GetSecurityConfiguration",
    "kms:CreateKey",
    "lambda:CreateEventSourceMapping",
    "logs:DescribeIndexPolicies",
}
"""Actions of which IAM knows no resource: Service Authorization Reference."""


@pytest.fixture(scope="module")
def assemblies(everything: Assembly, on_emr: Assembly) -> list[Assembly]:
    return [everything, on_emr]


def granted() -> dict[str, set[str]]:
    """The resources of each action of all policies together."""
    found: dict[str, set[str]] = {}
    for policy in policies(ACCOUNT, REGION):
        for statement in policy["Statement"]:
            assert statement["Effect"] == "Allow"
            for action in statement["Action"]:
                found.setdefault(action, set()).update(statement["Resource"])
    return found


def test_the_policies_are_for_the_types_of_the_stack_and_no_others(assemblies: list[Assembly]) -> None:
    found = {each["Type"] for one in assemblies for each in one.template["Resources"].values()}

    assert found == set(TYPES)


@pytest.mark.parametrize("kind", TYPES)
def test_what_a_type_needs_is_granted_or_is_of_a_property_that_the_stack_does_not_use(kind: str) -> None:
    assert used(kind)
    assert used(kind) <= granted().keys()
    assert {action for action in declared(kind) if "*" in action} == set()


def test_each_pattern_of_what_is_not_used_stands_for_something() -> None:
    idle = [
        (kind, pattern)
        for kind, patterns in UNUSED.items()
        for pattern in patterns
        if kind != "*" and not any(re.fullmatch(pattern, action) for action in declared(kind))
    ]

    assert idle == []
    assert any(re.fullmatch(OF_OTHER_SERVICES, action) for kind in TYPES for action in declared(kind))


ABSENT = {
    "AWS::DynamoDB::Table": {"ImportSourceSpecification", "KinesisStreamSpecification", "ResourcePolicy"},
    "AWS::Events::EventBus": {"KmsKeyIdentifier", "Policy"},
    "AWS::IAM::Role": {"ManagedPolicyArns"},
    "AWS::Lambda::EventSourceMapping": {"KmsKeyArn"},
    "AWS::Lambda::Function": {
        "CodeSigningConfigArn",
        "FileSystemConfigs",
        "KmsKeyArn",
        "ReservedConcurrentExecutions",
        "VpcConfig",
    },
    "AWS::S3::Bucket": {
        "AccessControl",
        "CorsConfiguration",
        "NotificationConfiguration",
        "ObjectLockEnabled",
        "ReplicationConfiguration",
    },
    "AWS::SNS::Topic": {"DataProtectionPolicy"},
}
"""Properties whose actions the policies leave out."""


def test_no_template_has_a_property_whose_actions_are_left_out(assemblies: list[Assembly]) -> None:
    found = [
        (name, sorted(ABSENT.get(each["Type"], set()) & each.get("Properties", {}).keys()))
        for one in assemblies
        for name, each in one.template["Resources"].items()
    ]

    assert [each for each in found if each[1]] == []


def test_no_action_has_a_star_and_a_bare_resource_is_of_actions_that_take_none() -> None:
    found = granted()

    assert [action for action in found if "*" in action] == []
    assert {action for action, resources in found.items() if "*" in resources} == OF_NO_RESOURCE
    placed = [arn for arns in found.values() for arn in arns if arn != "*"]
    assert not [arn for arn in placed if "ACCOUNT" in arn or "REGION" in arn]
    assert not [
        arn for arn in placed if ":s3:" not in arn and ":apigateway:" not in arn and ACCOUNT not in arn
    ]


NAMES = {
    "AWS::Events::EventBus": ("Name", "events:CreateEventBus", "event-bus/"),
    "AWS::Glue::Job": ("Name", "glue:CreateJob", "job/"),
    "AWS::Logs::LogGroup": ("LogGroupName", "logs:CreateLogGroup", "log-group:"),
    "AWS::SQS::Queue": ("QueueName", "sqs:CreateQueue", ""),
}
"""Where a template names a resource, and by which action and ARN it is made."""


@pytest.mark.parametrize("kind", NAMES)
def test_a_resource_that_the_template_names_is_one_of_the_policies(
    assemblies: list[Assembly], kind: str
) -> None:
    name, action, before = NAMES[kind]
    beginning = f"arn:aws:{action.partition(':')[0]}:{REGION}:{ACCOUNT}:{before}"
    patterns = granted()[action]
    named = [
        beginning + Written(one.template, "Fanin-dev").text(each["Properties"][name])
        for one in assemblies
        for each in one.of_type(kind).values()
        if name in each["Properties"]
    ]

    assert named
    assert [arn for arn in named if not any(fnmatchcase(arn, each) for each in patterns)] == []


def test_the_policies_fit_into_iams_limits() -> None:
    found = policies(ACCOUNT, REGION)

    assert max(length(each) for each in found) <= MOST_CHARACTERS
    assert len(found) <= POLICIES_OF_A_ROLE


def test_cfn_lint_accepts_the_policies() -> None:
    from cfnlint import api as cfn_lint

    resources: dict[str, Any] = {
        f"P{number}": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": policy}}
        for number, policy in enumerate(policies(ACCOUNT, REGION))
    }
    found = cfn_lint.lint(json.dumps({"Resources": resources}), regions=["us-east-1"])

    # The schema of an API's stage names two actions that the Service Authorization Reference does not have.
    unknown = ("'tagresource'", "'untagresource'")
    assert [str(each) for each in found if not any(name in str(each) for name in unknown)] == []


def test_the_command_of_the_page_writes_the_files_that_the_page_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    main([ACCOUNT, REGION])
    written = capsys.readouterr().out.split()

    assert written == [f"build/execution-policy-{number}.json" for number in range(1, len(written) + 1)]
    assert all(f"file://{name}" in page for name in written)
    assert f"file://build/execution-policy-{len(written) + 1}.json" not in page
    assert "-m infra.execution_policy " in page


@pytest.mark.parametrize("arguments", [[], ["1"], ["111122223333"], ["x" * 12, REGION]])
def test_other_arguments_are_refused_with_the_form_of_the_command(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="ACCOUNT REGION"):
        main(arguments)
