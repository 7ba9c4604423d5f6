"""The Pipe, its filter against stream records as DynamoDB writes them, and who hears of a completion."""

from __future__ import annotations

import json

import pytest
from moto.events.models import EventPattern


@pytest.fixture(scope="module")
def pipe(demo):
    return demo.only("AWS::Pipes::Pipe")["Properties"]


@pytest.fixture(scope="module")
def passes(pipe):
    """Whether a stream record passes the filter of the template."""
    (criterion,) = pipe["SourceParameters"]["FilterCriteria"]["Filters"]
    return EventPattern.load(criterion["Pattern"]).matches_event


def record(event_name="MODIFY", *, old="CLOSED", new="COMPLETE", sk="batch"):
    """A stream record of Batches; an image is absent where its state is None."""

    def image(state):
        return {
            "pk": {"S": "123456789012#0199"},
            "sk": {"S": sk},
            "state": {"S": state},
            "total": {"N": "3"},
            "userKey": {"S": 'a "quoted" {key}'},
        }

    images = {name: image(state) for name, state in (("OldImage", old), ("NewImage", new)) if state}
    keys = {"pk": {"S": "123456789012#0199"}, "sk": {"S": sk}}
    return {
        "eventID": "1",
        "eventName": event_name,
        "eventSource": "aws:dynamodb",
        "dynamodb": {"Keys": keys, **images, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


@pytest.mark.parametrize("old", ["OPEN", "CLOSED"])
def test_the_step_into_completion_passes_the_filter(passes, old):
    assert passes(record(old=old))


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(record(old="COMPLETE"), id="complete already: a later touch of the item"),
        pytest.param(record(old="OPEN", new="CLOSED"), id="closed, not complete"),
        pytest.param(record(old="OPEN", new="OPEN"), id="an add"),
        pytest.param(record("INSERT", old=None, new="OPEN"), id="opened"),
        pytest.param(record("INSERT", old=None), id="restored from a backup"),
        pytest.param(record("REMOVE", old="COMPLETE", new=None), id="expired"),
        pytest.param(record(sk="group#0000000000000"), id="not the batch item"),
    ],
)
def test_nothing_else_passes_the_filter(passes, sample):
    assert not passes(sample)


def test_the_pipe_leads_from_the_stream_through_the_description_to_the_bus(demo, pipe):
    resources = demo.template["Resources"]

    stream, attribute = pipe["Source"]["Fn::GetAtt"]
    assert (resources[stream]["Type"], attribute) == ("AWS::DynamoDB::Table", "StreamArn")
    assert stream.startswith("TablesBatches")
    assert pipe["Enrichment"]["Fn::GetAtt"][0].startswith("FunctionsDescribeEvent")
    assert resources[pipe["Target"]["Fn::GetAtt"][0]]["Type"] == "AWS::Events::EventBus"


def test_the_payload_becomes_the_detail_without_a_template(pipe):
    assert pipe["TargetParameters"] == {
        "EventBridgeEventBusParameters": {"DetailType": "BatchCompleted", "Source": "fanin"}
    }
    assert "EnrichmentParameters" not in pipe


def test_a_batch_is_no_longer_than_a_bus_takes_and_a_bad_record_is_set_aside(pipe):
    stream = pipe["SourceParameters"]["DynamoDBStreamParameters"]

    assert stream["BatchSize"] <= 10
    assert stream["StartingPosition"] == "TRIM_HORIZON"
    assert stream["OnPartialBatchItemFailure"] == "AUTOMATIC_BISECT"
    assert 0 < stream["MaximumRetryAttempts"] <= 100
    assert stream["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0].startswith("EventsDeadLetters")


def test_the_log_of_the_pipe_never_holds_what_users_wrote(pipe):
    assert pipe["LogConfiguration"]["Level"] == "ERROR"
    assert "IncludeExecutionData" not in pipe["LogConfiguration"]


def test_the_role_of_the_pipe_may_do_what_the_pipe_does_and_no_more(demo, pipe):
    role = pipe["RoleArn"]["Fn::GetAtt"][0]
    (policy,) = (
        each["Properties"]["PolicyDocument"]["Statement"]
        for each in demo.of_type("AWS::IAM::Policy").values()
        if {"Ref": role} in each["Properties"]["Roles"]
    )
    granted = {json.dumps(each["Resource"]): each["Action"] for each in policy}

    assert granted == {
        json.dumps(pipe["Source"]): [
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        ],
        json.dumps(pipe["Enrichment"]): "lambda:InvokeFunction",
        json.dumps(pipe["Target"]): "events:PutEvents",
        json.dumps(
            pipe["SourceParameters"]["DynamoDBStreamParameters"]["DeadLetterConfig"]["Arn"]
        ): "sqs:SendMessage",
        json.dumps(pipe["LogConfiguration"]["CloudwatchLogsLogDestination"]["LogGroupArn"]): [
            "logs:CreateLogStream",
            "logs:PutLogEvents",
        ],
    }


def test_only_pipes_of_this_account_may_take_the_role(demo, pipe):
    role = demo.template["Resources"][pipe["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Principal"] == {"Service": "pipes.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_the_demo_hears_every_event_of_fanin_on_the_bus(demo, pipe):
    rule = demo.only("AWS::Events::Rule")["Properties"]
    (target,) = rule["Targets"]

    assert rule["EventPattern"] == {"source": ["fanin"]}
    assert rule["EventBusName"] == {"Ref": pipe["Target"]["Fn::GetAtt"][0]}
    assert target["Arn"]["Fn::GetAtt"][0].startswith("DemoEventsQueue")
    assert target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0].startswith("DemoEventsDeadLetters")
