from __future__ import annotations

import json
import re

import pytest

from fanin.settings.settings_file import SettingsFile
from tests.contract.grouper_tables import create_tables as create_grouper_tables
from tests.contract.tables import create_tables
from tests.infra.options import PROD
from tests.infra.synthesis import synthesised
from tests.infra.test_functions import QUEUE_EATER


def properties_of(assembly, kind):
    return [each["Properties"] for each in assembly.of_type(kind).values()]


def test_the_tables_of_the_tests_have_the_keys_and_indexes_of_the_template(full):
    client = Created()
    create_tables(client)
    create_grouper_tables(client)

    for table in client.tables:
        name = re.sub("^(Group)?", lambda of: "GrouperTables" if of[1] else "Tables", table["TableName"])
        deployed = full.named("AWS::DynamoDB::Table", name)["Properties"]
        assert table["KeySchema"] == deployed["KeySchema"]
        assert table.get("GlobalSecondaryIndexes") == deployed.get("GlobalSecondaryIndexes")
        assert types_of(table) == types_of(deployed)


def types_of(table):
    return {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}


class Created:
    """A client that notes the tables it is asked for."""

    def __init__(self):
        self.tables = []

    def create_table(self, **asked):
        self.tables.append(asked)


@pytest.mark.parametrize(("settings", "protected", "policy"), [(PROD, True, "Retain"), ({}, False, "Delete")])
def test_prod_keeps_its_tables_and_another_stage_lets_them_go(settings, protected, policy):
    tables = synthesised(**settings).of_type("AWS::DynamoDB::Table").values()

    assert {table["DeletionPolicy"] for table in tables} == {policy}
    assert {table["UpdateReplacePolicy"] for table in tables} == {policy}
    assert {table["Properties"]["DeletionProtectionEnabled"] for table in tables} == {protected}
    restored = [table["Properties"]["PointInTimeRecoverySpecification"] for table in tables]
    assert [each["PointInTimeRecoveryEnabled"] for each in restored] == [True] * len(tables)


def test_a_cap_on_request_units_holds_for_every_table(everything):
    capped = properties_of(everything, "AWS::DynamoDB::Table")

    both = {"MaxReadRequestUnits": 4000, "MaxWriteRequestUnits": 4000}
    indexes = [index for table in capped for index in table.get("GlobalSecondaryIndexes", [])]
    assert [each["OnDemandThroughput"] for each in (*capped, *indexes)] == [both] * 15


def test_warm_throughput_holds_for_a_table_and_its_indexes_and_for_no_other(everything):
    found = {
        name: [each.get("WarmThroughput") for each in (table, *table.get("GlobalSecondaryIndexes", []))]
        for name, table in (
            (name, resource["Properties"])
            for name, resource in everything.of_type("AWS::DynamoDB::Table").items()
        )
    }
    batches, jobs = ({"ReadUnitsPerSecond": reads, "WriteUnitsPerSecond": writes} for reads, writes in UNITS)

    assert sorted(map(str, found.values())) == sorted(
        map(str, [[batches] * 5, [jobs] * 3, [None] * 2, [None] * 2, [None] * 3])
    )


UNITS = ((12_000, 8_000), (40_000, 40_000))


def dead_letter_queues(assembly):
    """Logical ids of the queues that something names as its dead-letter queue."""
    redriven = [queue.get("RedrivePolicy") for queue in properties_of(assembly, "AWS::SQS::Queue")]
    mappings = properties_of(assembly, "AWS::Lambda::EventSourceMapping")
    given_up = [each["DestinationConfig"]["OnFailure"] for each in mappings if "DestinationConfig" in each]
    targets = [
        target
        for rule in properties_of(assembly, "AWS::Events::Rule")
        for target in rule["Targets"]
        if "DeadLetterConfig" in target
    ]
    arns = [each["deadLetterTargetArn"] for each in redriven if each]
    arns += [each["DeadLetterConfig"]["Arn"] for each in targets]
    arns += [each["Destination"] for each in given_up]
    return {arn["Fn::GetAtt"][0] for arn in arns}


def test_every_queue_has_a_dead_letter_queue_or_is_one_or_is_a_doorbell(full):
    queues = full.of_type("AWS::SQS::Queue")
    without = {name for name, queue in queues.items() if "RedrivePolicy" not in queue["Properties"]}
    doorbells = {name for name in without if name.startswith("JobsDoorbell")}

    assert without - doorbells == dead_letter_queues(full)
    assert (len(queues) - len(without), len(doorbells)) == (7, 1)


def test_every_queue_is_encrypted_and_refuses_plain_http(full):
    policies = properties_of(full, "AWS::SQS::QueuePolicy")

    for name, queue in full.of_type("AWS::SQS::Queue").items():
        found = [each["PolicyDocument"]["Statement"] for each in policies if {"Ref": name} in each["Queues"]]
        assert queue["Properties"]["SqsManagedSseEnabled"] is True
        assert {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "sqs:*",
            "Resource": {"Fn::GetAtt": [name, "Arn"]},
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        } in [statement for statements in found for statement in statements]


def test_every_queue_of_the_stack_hides_messages_for_six_timeouts_of_its_consumer(full):
    mappings = properties_of(full, "AWS::Lambda::EventSourceMapping")
    consumed = [each for each in mappings if "StartingPosition" not in each]

    assert len(consumed) == 7
    for mapping in consumed:
        queue = full.template["Resources"][mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        function = full.template["Resources"][mapping["FunctionName"]["Ref"]]["Properties"]
        assert queue["VisibilityTimeout"] == 6 * function["Timeout"]
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


DEAD_LETTER_QUEUE = "arn:aws:sqs:eu-west-1:123456789012:orders-dead"
IN_ORDER = "arn:aws:sqs:eu-west-1:123456789012:mails-dead.fifo"


def mapped(assembly):
    """The event source mapping of each queue that is given by its ARN."""
    mappings = properties_of(assembly, "AWS::Lambda::EventSourceMapping")
    return {each["EventSourceArn"]: each for each in mappings if isinstance(each["EventSourceArn"], str)}


def test_the_dead_letter_queues_of_users_feed_the_function_that_fails_their_items(configured):
    found = mapped(configured)

    assert found.keys() == {DEAD_LETTER_QUEUE, IN_ORDER}
    for mapping in found.values():
        assert mapping["FunctionName"]["Ref"].startswith("FunctionsFailDeadLetterMessages")
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["ScalingConfig"] == {"MaximumConcurrency": 10}


def test_a_queue_that_keeps_an_order_is_read_in_the_batches_it_allows(configured):
    found = mapped(configured)

    assert (
        found[DEAD_LETTER_QUEUE]["BatchSize"],
        found[DEAD_LETTER_QUEUE]["MaximumBatchingWindowInSeconds"],
    ) == (100, 1)
    assert found[IN_ORDER]["BatchSize"] == 10
    assert "MaximumBatchingWindowInSeconds" not in found[IN_ORDER]


def test_the_grants_on_the_queues_of_users_name_those_queues_and_no_others(configured, default):
    granted = [
        (each["Action"], each["Resource"])
        for policy in properties_of(configured, "AWS::IAM::Policy")
        if policy["PolicyName"].startswith("FunctionsFailDeadLetterMessages")
        for each in policy["PolicyDocument"]["Statement"]
        if any(action.startswith("sqs:") for action in each["Action"])
    ]

    assert [set(actions) for actions, _ in granted] == [QUEUE_EATER]
    assert [resources for _, resources in granted] == [sorted([DEAD_LETTER_QUEUE, IN_ORDER])]
    assert not mapped(default)


def test_the_queues_of_users_and_the_acks_queue_are_of_the_tenants_that_the_configuration_names(
    configured, default
):
    failing, acks = (environment_of(configured, name) for name in ("FailDeadLetterMessages", "ConsumeAcks"))

    assert configured.settings_file.dead_letter_tenants == {DEAD_LETTER_QUEUE: "acme"}
    assert failing["FANIN_TENANT"] == {"Ref": "AWS::AccountId"}
    assert acks["FANIN_TENANT"] == "umbrella"
    assert environment_of(default, "ConsumeAcks")["FANIN_TENANT"] == {"Ref": "AWS::AccountId"}
    lists = ("grouper_policies", "grouper_downstream", "callbacks", "publications")
    resumed = ("resumed_state_machines", "resumed_durable_functions")
    assert default.settings_file == SettingsFile(**{name: [] for name in (*lists, *resumed)})


def test_the_acks_queue_may_write_its_log_and_nothing_else_of_that_bucket(configured, default):
    puts = [
        statement["Resource"]["Fn::Join"][1][-1]
        for policy in configured.of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "s3:PutObject" and ":logs" in json.dumps(statement["Resource"])
    ]

    assert puts == [":s3:::logs/of/acks/*"]
    assert environment_of(configured, "ConsumeAcks")["FANIN_ACKS_LOG"] == "s3://logs/of/acks"
    assert "FANIN_ACKS_LOG" not in environment_of(default, "ConsumeAcks")


def test_kept_messages_go_to_a_queue_of_the_longest_retention_and_the_function_may_only_send(
    configured, default
):
    queue = configured.named("AWS::SQS::Queue", "LettersKept")
    sends = [
        (each["Action"], each["Resource"])
        for policy in properties_of(configured, "AWS::IAM::Policy")
        for each in policy["PolicyDocument"]["Statement"]
        if policy["PolicyName"].startswith("FunctionsFailDeadLetterMessages")
        and "sqs:SendMessage" in each["Action"]
    ]
    (name, unmatched) = (
        next(each for each in configured.of_type("AWS::SQS::Queue") if each.startswith(part))
        for part in ("LettersKept", "LettersUnmatched")
    )

    assert queue["Properties"]["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert queue["Properties"]["SqsManagedSseEnabled"] is True
    assert sends == [("sqs:SendMessage", [{"Fn::GetAtt": [each, "Arn"]} for each in (name, unmatched)])]
    assert environment_of(configured, "FailDeadLetterMessages")["FANIN_KEPT_MESSAGES_QUEUE"] == {"Ref": name}
    assert configured.template["Outputs"]["KeptMessagesQueueUrl"]["Value"] == {"Ref": name}
    assert "KeptMessagesQueueUrl" not in default.template["Outputs"]


def test_messages_that_match_no_item_have_a_queue_with_an_alarm_once_a_queue_of_a_user_is_consumed(
    configured, default
):
    (name,) = (each for each in configured.of_type("AWS::SQS::Queue") if each.startswith("LettersUnmatched"))
    alarm = configured.named("AWS::CloudWatch::Alarm", "MonitoringUnmatchedDeadLetters")["Properties"]

    assert environment_of(configured, "FailDeadLetterMessages")["FANIN_OWN_DEAD_LETTER_QUEUE"] == {
        "Ref": name
    }
    assert configured.template["Outputs"]["UnmatchedMessagesQueueUrl"]["Value"] == {"Ref": name}
    assert alarm["Dimensions"][0]["Value"] == {"Fn::GetAtt": [name, "QueueName"]}
    assert "FANIN_OWN_DEAD_LETTER_QUEUE" not in environment_of(default, "FailDeadLetterMessages")


def environment_of(assembly, function):
    found = assembly.named("AWS::Lambda::Function", f"Functions{function}")["Properties"]
    return found["Environment"]["Variables"]


def test_lambda_accepts_a_queue_of_a_user_that_hides_its_messages_for_the_usual_time(default):
    function = default.named("AWS::Lambda::Function", "FunctionsFailDeadLetterMessages")["Properties"]

    assert function["Timeout"] <= 30
