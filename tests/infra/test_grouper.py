"""The group-batcher's part of the stack."""

from __future__ import annotations

import json

import pytest

from tests.infra.options import BATCH_API_KEY, BATCH_API_SECRET, CONFIGURED, INVOKED, SIGNED
from tests.infra.synthesis import handler_of, synthesised


def variables(assembly, handler):
    (found,) = (
        each["Properties"]["Environment"]["Variables"]
        for each in assembly.of_type("AWS::Lambda::Function").values()
        if handler_of(each) == handler
    )
    return found


def test_policies_batch_apis_and_targets_reach_the_functions(configured):
    for name in ("grouper_policies", "grouper_downstream", "grouper_target"):
        assert getattr(configured.settings_file, name) == CONFIGURED[name]


def test_without_the_grouper_nothing_of_it_is_there():
    assembly = synthesised(archive=True, grouper=False)

    assert not [name for name in assembly.template["Resources"] if name.startswith("Grouper")]
    assert not {"api.write_tasks", "lead_tasks"} & {
        handler_of(each) for each in assembly.of_type("AWS::Lambda::Function").values()
    }


@pytest.mark.parametrize(
    ("handler", "queue"), [("consume_acks", "Acks"), ("consume_tasks", "GrouperRegistrations")]
)
def test_a_consumer_that_isolates_messages_has_the_dead_letter_queue_of_its_own_queue(full, handler, queue):
    (source,) = (name for name in full.of_type("AWS::SQS::Queue") if name.startswith(f"{queue}Queue"))
    redrive = full.template["Resources"][source]["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]

    assert variables(full, handler)["FANIN_OWN_DEAD_LETTER_QUEUE"] == {"Ref": redrive["Fn::GetAtt"][0]}


def test_the_tasks_of_a_queue_have_the_tenant_of_the_acks(configured):
    tenants = {variables(configured, each)["FANIN_TENANT"] for each in ("consume_acks", "consume_tasks")}

    assert tenants == {"umbrella"}


def test_each_kind_of_batch_api_has_its_grant_and_the_caller_alone_has_it(configured):
    by_role = {
        each["Properties"]["Roles"][0]["Ref"]: each["Properties"]["PolicyDocument"]["Statement"]
        for each in configured.of_type("AWS::IAM::Policy").values()
    }
    services = ("secretsmanager:", "kms:", "execute-api:", "lambda:")
    found = {
        (role.removeprefix("Functions").partition("Role")[0], each["Action"], each["Resource"])
        for role, statements in by_role.items()
        for each in statements
        if isinstance(each["Action"], str) and each["Action"].startswith(services)
        if isinstance(each["Resource"], str)
        if role.startswith("FunctionsHandleBundle") or "111122223333" in each["Resource"]
    }

    assert found == {
        ("HandleBundle", "secretsmanager:GetSecretValue", BATCH_API_SECRET),
        ("HandleBundle", "kms:Decrypt", BATCH_API_KEY),
        ("HandleBundle", "execute-api:Invoke", SIGNED),
        ("HandleBundle", "lambda:InvokeFunction", INVOKED),
    }
    (decrypt,) = [
        each for statements in by_role.values() for each in statements if each["Action"] == "kms:Decrypt"
    ]
    assert "secretsmanager.eu-west-1" in json.dumps(decrypt["Condition"]["StringEquals"]["kms:ViaService"])


def test_functions_last_as_long_as_the_longest_leases(configured):
    timeouts = {
        handler_of(each): each["Properties"]["Timeout"]
        for each in configured.of_type("AWS::Lambda::Function").values()
    }
    hidden = configured.named("AWS::SQS::Queue", "GrouperBundleMessagesQueue")["Properties"][
        "VisibilityTimeout"
    ]

    assert (timeouts["lead_tasks"], timeouts["handle_bundle"], hidden) == (80, 900, 5400)
