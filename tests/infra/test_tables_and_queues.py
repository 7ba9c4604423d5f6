from __future__ import annotations

import pytest

from tests.infra.synthesis import synthesised

TABLES = ("TablesBatches", "TablesPages", "DemoIndex")
QUEUES = (
    "AcksQueue",
    "AcksDeadLetters",
    "EventsDeadLetters",
    "DemoWorkQueue",
    "DemoWorkDeadLetters",
    "DemoEventsQueue",
    "DemoEventsDeadLetters",
)


def properties_of(assembly, kind):
    return [each["Properties"] for each in assembly.of_type(kind).values()]


def test_the_tables_and_queues_are_these(demo):
    assert len(demo.of_type("AWS::DynamoDB::Table")) == len(TABLES)
    assert len(demo.of_type("AWS::SQS::Queue")) == len(QUEUES)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_expires_items_recovers_and_is_billed_by_request(demo, name):
    table = demo.named("AWS::DynamoDB::Table", name)["Properties"]

    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert "OnDemandThroughput" not in table


def test_batches_have_a_sort_key_and_stream_both_images_and_pages_neither(demo):
    batches = demo.named("AWS::DynamoDB::Table", "TablesBatches")["Properties"]
    pages = demo.named("AWS::DynamoDB::Table", "TablesPages")["Properties"]

    assert [key["AttributeName"] for key in batches["KeySchema"]] == ["pk", "sk"]
    assert batches["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert [key["AttributeName"] for key in pages["KeySchema"]] == ["pk"]
    assert "StreamSpecification" not in pages


@pytest.mark.parametrize(
    ("stage", "protected", "policy"), [("prod", True, "Retain"), ("dev", False, "Delete")]
)
def test_prod_keeps_its_tables_and_another_stage_lets_them_go(stage, protected, policy):
    tables = synthesised(stage=stage).of_type("AWS::DynamoDB::Table").values()

    assert {table["DeletionPolicy"] for table in tables} == {policy}
    assert {table["UpdateReplacePolicy"] for table in tables} == {policy}
    assert {table["Properties"]["DeletionProtectionEnabled"] for table in tables} == {protected}


def test_a_cap_on_request_units_holds_for_every_table():
    capped = properties_of(synthesised(max_request_units=4000), "AWS::DynamoDB::Table")

    both = {"MaxReadRequestUnits": 4000, "MaxWriteRequestUnits": 4000}
    assert [table["OnDemandThroughput"] for table in capped] == [both, both]


def dead_letter_queues(assembly):
    """Logical ids of the queues that something names as its dead-letter queue."""
    redriven = [queue.get("RedrivePolicy") for queue in properties_of(assembly, "AWS::SQS::Queue")]
    pipe = assembly.only("AWS::Pipes::Pipe")["Properties"]["SourceParameters"]["DynamoDBStreamParameters"]
    arns = [each["deadLetterTargetArn"] for each in redriven if each] + [pipe["DeadLetterConfig"]["Arn"]]
    return {arn["Fn::GetAtt"][0] for arn in arns}


def test_every_queue_has_a_dead_letter_queue_or_is_one(demo):
    queues = demo.of_type("AWS::SQS::Queue")
    without = {name for name, queue in queues.items() if "RedrivePolicy" not in queue["Properties"]}

    assert without == dead_letter_queues(demo)
    assert len(queues) - len(without) == 3


def test_the_dead_are_kept_as_long_as_can_be(demo):
    kept = {
        demo.template["Resources"][name]["Properties"]["MessageRetentionPeriod"]
        for name in dead_letter_queues(demo)
    }

    assert kept == {14 * 24 * 3600}


@pytest.mark.parametrize("name", QUEUES)
def test_every_queue_is_encrypted_and_refuses_plain_http(demo, name):
    (logical_id,) = (each for each in demo.of_type("AWS::SQS::Queue") if each.startswith(name))
    statements = [
        statement
        for policy in properties_of(demo, "AWS::SQS::QueuePolicy")
        if {"Ref": logical_id} in policy["Queues"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]

    assert demo.named("AWS::SQS::Queue", name)["Properties"]["SqsManagedSseEnabled"] is True
    assert {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": {"Fn::GetAtt": [logical_id, "Arn"]},
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    } in statements


CONSUMERS = [("AcksQueue", "ConsumeAcks"), ("DemoWorkQueue", "DemoWorker")]


@pytest.mark.parametrize(("queue", "function"), CONSUMERS)
def test_a_consumer_answers_with_failed_items_and_has_a_ceiling(demo, queue, function):
    (mapping,) = (
        each
        for each in properties_of(demo, "AWS::Lambda::EventSourceMapping")
        if each["EventSourceArn"]["Fn::GetAtt"][0].startswith(queue)
    )

    assert mapping["FunctionName"]["Ref"].startswith(f"Functions{function}")
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 10}
    assert (mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"]) == (100, 1)


def test_the_ceiling_is_configured():
    mappings = properties_of(synthesised(consumer_concurrency=3), "AWS::Lambda::EventSourceMapping")

    assert [each["ScalingConfig"]["MaximumConcurrency"] for each in mappings] == [3]


@pytest.mark.parametrize(("queue", "function", "times"), [(*CONSUMERS[0], 6), (*CONSUMERS[1], 2)])
def test_a_message_stays_away_while_its_consumer_may_still_work(demo, queue, function, times):
    visibility = demo.named("AWS::SQS::Queue", queue)["Properties"]["VisibilityTimeout"]
    timeout = demo.named("AWS::Lambda::Function", f"Functions{function}")["Properties"]["Timeout"]

    assert visibility == times * timeout
