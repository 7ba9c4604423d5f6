"""What the stack gives the functions that make doorbells at run time: the key and the tags of its queues."""

from __future__ import annotations

import json
from typing import Any

from fanin_cdk.grants.job_handlers import JOB_API, SWEEP_JOBS
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import served
from tests.infra.synthesis import handler_of
from tests.infra.test_construct_edges import app_of, resources, stack_of, tracker_of

FUNCTIONS = (*served(JOB_API, Config()), SWEEP_JOBS)
CREATING = {each.lambda_.name for each in FUNCTIONS if "sqs:CreateQueue" in each.doorbells}


def variables(stack: Any) -> dict[str, dict[str, Any]]:
    """The environment of each function of the tracker by its handler."""
    return {
        handler_of(each): each["Properties"]["Environment"]["Variables"]
        for each in resources(stack, "AWS::Lambda::Function", "FaninFunctions")
    }


def test_the_functions_that_make_doorbells_get_the_key_and_the_tags_of_the_queues_of_the_stack() -> None:
    from aws_cdk import Tags
    from aws_cdk import aws_kms as kms

    stack = stack_of(app_of(), tags={"owner": "shop"})
    tracker_of(stack, api="iam", encryption_key=kms.Key(stack, "Key"), queues=True)
    Tags.of(stack).add("cost-centre", "4711")
    Tags.of(stack).add("kind", "queue", include_resource_types=["AWS::SQS::Queue"])
    Tags.of(stack).add("kind", "table", include_resource_types=["AWS::DynamoDB::Table"])

    given = {name: each for name, each in variables(stack).items() if "FANIN_DOORBELL_KEY" in each}
    assert given.keys() == CREATING
    for each in given.values():
        tags = {"cost-centre": "4711", "kind": "queue", "owner": "shop"}
        assert json.loads(each["FANIN_DOORBELL_TAGS"]) == tags
        assert each["FANIN_DOORBELL_KEY"] == {"Fn::GetAtt": ["Key961B73FD", "Arn"]}


def test_without_a_key_and_tags_no_function_has_a_variable_of_them() -> None:
    stack = stack_of(app_of())
    tracker_of(stack, api="iam", queues=True)

    found = {name for each in variables(stack).values() for name in each}
    assert "FANIN_DOORBELL_PREFIX" in found
    assert found.isdisjoint({"FANIN_DOORBELL_KEY", "FANIN_DOORBELL_TAGS"})


def test_a_function_that_makes_doorbells_may_use_the_key_and_no_other_and_tag_its_own_doorbells() -> None:
    from aws_cdk import aws_kms as kms

    stack = stack_of(app_of())
    tracker_of(stack, api="iam", encryption_key=kms.Key(stack, "Key"), queues=True)

    granted = [
        statement
        for policy in resources(stack, "AWS::IAM::Policy", "FaninFunctions")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]
    keys = [json.dumps(each["Resource"]) for each in granted if "kms:" in json.dumps(each["Action"])]
    assert set(keys) == {'{"Fn::GetAtt": ["Key961B73FD", "Arn"]}'}
    changes = [each for each in granted if "sqs:TagQueue" in each["Action"]]
    assert changes
    for each in changes:
        assert all(text.endswith(("_bell_queue-*", "_bell_tenant-*")) for text in patterns(each["Resource"]))


def patterns(resource: Any) -> list[str]:
    """The ends of the ARNs of a statement."""
    several = resource if isinstance(resource, list) else [resource]
    return [each["Fn::Join"][1][-1] for each in several]
