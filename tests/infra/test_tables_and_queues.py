from __future__ import annotations

import pytest

from fanin import names
from fanin.aws.settings.settings_file import SettingsFile
from tests.contract.tables import create_tables
from tests.infra.synthesis import synthesised
from tests.infra.test_functions import PROD, QUEUE_EATER

GROUPS = ("GrouperTablesTasks", "GrouperTablesLeases", "GrouperTablesBundles")
TABLES = ("TablesBatches", "TablesPages", *GROUPS, "JobsTable")
QUEUES = (
    "AcksQueue",
    "AcksDeadLetters",
    "EventsDeadLetters",
    "ConfirmationDeadLetters",
    "ResumingEventsQueue",
    "ResumingEventsDeadLetters",
    "CallbacksDeadLetters",
    "CallbacksWebhooksshopQueue",
    "CallbacksWebhooksDeadLetters",
    "GrouperTaskMessagesQueue",
    "GrouperTaskMessagesDeadLetters",
    "GrouperBundleMessagesQueue",
    "GrouperBundleMessagesDeadLetters",
    "GrouperRegistrationsQueue",
    "GrouperRegistrationsDeadLetters",
    "JobsDoorbellthumbs",
)


def properties_of(assembly, kind):
    return [each["Properties"] for each in assembly.of_type(kind).values()]


def test_the_tables_and_queues_are_these(full):
    assert len(full.of_type("AWS::DynamoDB::Table")) == len(TABLES)
    assert len(full.of_type("AWS::SQS::Queue")) == len(QUEUES)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_expires_items_recovers_and_is_billed_by_request(full, name):
    table = full.named("AWS::DynamoDB::Table", name)["Properties"]

    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert "OnDemandThroughput" not in table


def test_batches_have_a_sort_key_and_stream_both_images_and_pages_neither(full):
    batches = full.named("AWS::DynamoDB::Table", "TablesBatches")["Properties"]
    pages = full.named("AWS::DynamoDB::Table", "TablesPages")["Properties"]

    assert [key["AttributeName"] for key in batches["KeySchema"]] == ["pk", "sk"]
    assert batches["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert [key["AttributeName"] for key in pages["KeySchema"]] == ["pk"]
    assert "StreamSpecification" not in pages


def test_batches_are_found_by_when_to_look_at_them_by_tenant_and_by_user_key(full):
    batches = full.named("AWS::DynamoDB::Table", "TablesBatches")["Properties"]
    kinds = {each["AttributeName"]: each["AttributeType"] for each in batches["AttributeDefinitions"]}
    indexes = {
        each["IndexName"]: (
            [(key["AttributeName"], key["KeyType"]) for key in each["KeySchema"]],
            each["Projection"],
        )
        for each in batches["GlobalSecondaryIndexes"]
    }

    assert indexes == {
        names.NEXT_CHECK_INDEX: ([("dueShard", "HASH"), ("dueAt", "RANGE")], {"ProjectionType": "KEYS_ONLY"}),
        names.LIVE_BATCHES_INDEX: (
            [("liveShard", "HASH"), ("createdKey", "RANGE")],
            {"ProjectionType": "KEYS_ONLY"},
        ),
        names.TENANT_INDEX: (
            [("tenantShard", "HASH"), ("createdKey", "RANGE")],
            {"ProjectionType": "ALL"},
        ),
        names.USER_KEY_INDEX: ([("tenantUser", "HASH"), ("createdKey", "RANGE")], {"ProjectionType": "ALL"}),
    }
    assert {name for name, kind in kinds.items() if kind == "N"} == {"dueAt"}


def test_the_tables_of_the_tests_have_the_keys_of_the_template(full):
    client = Created()
    create_tables(client)

    for table in client.tables:
        deployed = full.named("AWS::DynamoDB::Table", f"Tables{table['TableName']}")["Properties"]
        assert table["KeySchema"] == deployed["KeySchema"]
        assert table.get("GlobalSecondaryIndexes") == deployed.get("GlobalSecondaryIndexes")


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
    assert (len(queues) - len(without), len(doorbells)) == (6, 1)


def test_the_dead_are_kept_as_long_as_can_be(full):
    kept = {
        full.template["Resources"][name]["Properties"]["MessageRetentionPeriod"]
        for name in dead_letter_queues(full)
    }

    assert kept == {14 * 24 * 3600}


@pytest.mark.parametrize("name", QUEUES)
def test_every_queue_is_encrypted_and_refuses_plain_http(full, name):
    (logical_id,) = (each for each in full.of_type("AWS::SQS::Queue") if each.startswith(name))
    statements = [
        statement
        for policy in properties_of(full, "AWS::SQS::QueuePolicy")
        if {"Ref": logical_id} in policy["Queues"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]

    assert full.named("AWS::SQS::Queue", name)["Properties"]["SqsManagedSseEnabled"] is True
    assert {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": {"Fn::GetAtt": [logical_id, "Arn"]},
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    } in statements


def test_a_consumer_answers_with_failed_items_and_has_a_ceiling(full):
    (mapping,) = (
        each
        for each in properties_of(full, "AWS::Lambda::EventSourceMapping")
        if each["EventSourceArn"]["Fn::GetAtt"][0].startswith("AcksQueue")
    )

    assert mapping["FunctionName"]["Ref"].startswith("FunctionsConsumeAcks")
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (100, 1)


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
        assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}


def test_a_queue_that_keeps_an_order_is_read_in_the_batches_it_allows(configured):
    found = mapped(configured)

    assert (
        found[DEAD_LETTER_QUEUE]["BatchSize"],
        found[DEAD_LETTER_QUEUE]["MaximumBatchingWindowInSeconds"],
    ) == (100, 1)
    assert found[IN_ORDER]["BatchSize"] == 10
    assert "MaximumBatchingWindowInSeconds" not in found[IN_ORDER]


def test_the_grants_on_the_queues_of_users_name_those_queues_and_no_others(configured, plain):
    granted = [
        (each["Action"], each["Resource"])
        for policy in properties_of(configured, "AWS::IAM::Policy")
        if policy["PolicyName"].startswith("FunctionsFailDeadLetterMessages")
        for each in policy["PolicyDocument"]["Statement"]
        if any(action.startswith("sqs:") for action in each["Action"])
    ]

    assert [set(actions) for actions, _ in granted] == [QUEUE_EATER]
    assert [resources for _, resources in granted] == [sorted([DEAD_LETTER_QUEUE, IN_ORDER])]
    assert not mapped(plain)


def test_the_queues_of_users_and_the_acks_queue_are_of_the_tenants_that_the_configuration_names(
    configured, plain
):
    failing, acks = (environment_of(configured, name) for name in ("FailDeadLetterMessages", "ConsumeAcks"))

    assert configured.settings_file.dead_letter_tenants == {DEAD_LETTER_QUEUE: "acme"}
    assert failing["FANIN_TENANT"] == {"Ref": "AWS::AccountId"}
    assert acks["FANIN_TENANT"] == "umbrella"
    assert environment_of(plain, "ConsumeAcks")["FANIN_TENANT"] == {"Ref": "AWS::AccountId"}
    assert plain.settings_file == SettingsFile(
        grouper_policies=[], grouper_downstream=[], callbacks=[], resumed_state_machines=[]
    )


def test_kept_messages_go_to_a_queue_of_the_longest_retention_and_the_function_may_only_send(
    configured, plain
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
    assert "KeptMessagesQueueUrl" not in plain.template["Outputs"]


def test_messages_that_match_no_item_have_a_queue_with_an_alarm_once_a_queue_of_a_user_is_consumed(
    configured, plain
):
    (name,) = (each for each in configured.of_type("AWS::SQS::Queue") if each.startswith("LettersUnmatched"))
    alarm = configured.named("AWS::CloudWatch::Alarm", "MonitoringUnmatchedDeadLetters")["Properties"]

    assert environment_of(configured, "FailDeadLetterMessages")["FANIN_OWN_DEAD_LETTER_QUEUE"] == {
        "Ref": name
    }
    assert configured.template["Outputs"]["UnmatchedMessagesQueueUrl"]["Value"] == {"Ref": name}
    assert alarm["Dimensions"][0]["Value"] == {"Fn::GetAtt": [name, "QueueName"]}
    assert "FANIN_OWN_DEAD_LETTER_QUEUE" not in environment_of(plain, "FailDeadLetterMessages")


def environment_of(assembly, function):
    found = assembly.named("AWS::Lambda::Function", f"Functions{function}")["Properties"]
    return found["Environment"]["Variables"]


def test_lambda_accepts_a_queue_of_a_user_that_hides_its_messages_for_the_usual_time(plain):
    function = plain.named("AWS::Lambda::Function", "FunctionsFailDeadLetterMessages")["Properties"]

    assert function["Timeout"] <= 30


def test_the_ceiling_is_configured(everything):
    mappings = properties_of(everything, "AWS::Lambda::EventSourceMapping")
    of_queues = [each for each in mappings if "StartingPosition" not in each]

    assert [each["ScalingConfig"]["MaximumConcurrency"] for each in of_queues] == [1000] * 8


def test_a_message_stays_away_while_its_consumer_may_still_work(full):
    visibility = full.named("AWS::SQS::Queue", "AcksQueue")["Properties"]["VisibilityTimeout"]
    timeout = full.named("AWS::Lambda::Function", "FunctionsConsumeAcks")["Properties"]["Timeout"]

    assert visibility == 6 * timeout
