"""The stream of ending events, its filters against records as DynamoDB writes them, and their targets."""

from __future__ import annotations

import json

import pytest
from moto.events.models import EventPattern

from fanin.tracker import State
from fanin.tracker.events import EVENT_TYPES
from fanin.tracker.rules.model import ALIVE


@pytest.fixture(scope="module")
def mapping(full):
    """What reads the stream of ending events."""
    return full.named("AWS::Lambda::EventSourceMapping", "FunctionsPublishEndings")["Properties"]


@pytest.fixture(scope="module")
def passes(mapping):
    """Whether a stream record passes the filters of the template: one of them is enough."""
    criteria = mapping["FilterCriteria"]["Filters"]
    patterns = [EventPattern.load(each["Pattern"]) for each in criteria]
    return lambda sample: any(pattern.matches_event(sample) for pattern in patterns)


def record(event_name="MODIFY", *, old="CLOSED", new="COMPLETE", sk="batch"):
    """A stream record of Batches; an image is absent where its state is None, and has none where it is ''."""

    def image(state):
        common = {"pk": {"S": "123456789012#0199"}, "sk": {"S": sk}, "ttl": {"N": "1790000000"}}
        batch = {"state": {"S": state}, "total": {"N": "3"}, "userKey": {"S": 'a "quoted" {key}'}}
        return common | (batch if state else {})

    images = {
        name: image(state) for name, state in (("OldImage", old), ("NewImage", new)) if state is not None
    }
    keys = {"pk": {"S": "123456789012#0199"}, "sk": {"S": sk}}
    return {
        "eventID": "1",
        "eventName": event_name,
        "eventSource": "aws:dynamodb",
        "dynamodb": {"Keys": keys, **images, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


ENDED = [str(state) for state in State if state not in ALIVE]
NOTICE = "notice#1790000000000"


@pytest.mark.parametrize("old", [str(state) for state in ALIVE])
@pytest.mark.parametrize("new", ENDED)
def test_the_step_into_any_end_passes_the_filters(passes, old, new):
    assert passes(record(old=old, new=new))


def test_the_coming_of_a_notice_passes_the_filters(passes):
    assert passes(record("INSERT", old=None, new="", sk=NOTICE))


@pytest.mark.parametrize("state", ENDED)
def test_an_ended_batch_that_is_only_postponed_or_confirmed_is_not_announced_again(passes, state):
    assert not passes(record(old=state, new=state))


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(record(old="OPEN", new="CLOSED"), id="closed, not complete"),
        pytest.param(record(old="OPEN", new="OPEN"), id="an add, or a failure that is counted"),
        pytest.param(record(old="CLOSED", new="CLOSED"), id="a live batch that is postponed"),
        pytest.param(record("INSERT", old=None, new="OPEN"), id="opened"),
        pytest.param(record("INSERT", old=None), id="restored from a backup"),
        pytest.param(record("REMOVE", old="COMPLETE", new=None), id="expired"),
        pytest.param(record(sk="group#0000000000000"), id="not the batch item"),
        pytest.param(record("INSERT", old=None, new="", sk="event"), id="a confirmation"),
        pytest.param(record("INSERT", old=None, new="", sk="token"), id="a task token"),
        pytest.param(record("REMOVE", old="", new=None, sk="token"), id="a task token that is dropped"),
        pytest.param(record("INSERT", old=None, new="", sk="sample#001"), id="a reason of a failure"),
        pytest.param(record("INSERT", old=None, new="", sk=f"add#{NOTICE}"), id="a receipt"),
        pytest.param(record("REMOVE", old="", new=None, sk=NOTICE), id="a notice that goes"),
        pytest.param(record("MODIFY", old="", new="", sk=NOTICE), id="a notice that is touched"),
    ],
)
def test_nothing_else_passes_the_filters(passes, sample):
    assert not passes(sample)


def test_the_stream_of_batches_feeds_the_function_that_puts_events_on_the_bus(full, mapping):
    resources = full.template["Resources"]
    function = mapping["FunctionName"]["Ref"]

    stream, attribute = mapping["EventSourceArn"]["Fn::GetAtt"]
    assert (resources[stream]["Type"], attribute) == ("AWS::DynamoDB::Table", "StreamArn")
    assert stream.startswith("TablesBatches")
    variables = resources[function]["Properties"]["Environment"]["Variables"]
    assert variables["FANIN_BUS_NAME"] == {"Ref": bus_of(full)}


def bus_of(assembly):
    (name,) = assembly.of_type("AWS::Events::EventBus")
    return name


def test_no_service_whose_reads_of_a_stream_are_billed_reads_one(full):
    assert full.of_type("AWS::Pipes::Pipe") == {}


def test_a_bad_record_stops_its_shard_for_an_hour_and_its_position_goes_to_the_dead_letter_queue(mapping):
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["MaximumRecordAgeInSeconds"] == 3600
    destination = mapping["DestinationConfig"]["OnFailure"]["Destination"]
    assert destination["Fn::GetAtt"][0].startswith("EventsDeadLetters")


@pytest.fixture(scope="module")
def confirming(plain):
    """The rule that has events confirmed."""
    return plain.named("AWS::Events::Rule", "Confirmation")["Properties"]


def event(detail_type, source="fanin"):
    return {"version": "0", "source": source, "detail-type": detail_type, "detail": {"batchId": "0199"}}


@pytest.mark.parametrize("detail_type", EVENT_TYPES.values())
def test_every_ending_event_of_the_bus_is_confirmed(plain, confirming, detail_type):
    (target,) = confirming["Targets"]

    assert EventPattern.load(json.dumps(confirming["EventPattern"])).matches_event(event(detail_type))
    assert confirming["EventBusName"] == {"Ref": bus_of(plain)}
    assert target["Arn"]["Fn::GetAtt"][0].startswith("FunctionsConfirmEvent")


@pytest.mark.parametrize("other", [event("BatchCompleted", source="theirs"), event("JobFinished")])
def test_no_other_event_is_confirmed(confirming, other):
    assert not EventPattern.load(json.dumps(confirming["EventPattern"])).matches_event(other)


def test_an_event_that_cannot_be_confirmed_is_tried_within_bounds_and_then_goes_to_the_queue(
    plain, confirming
):
    (target,) = confirming["Targets"]
    invoked = plain.named("AWS::Lambda::EventInvokeConfig", "FunctionsConfirmEvent")["Properties"]
    destination = invoked["DestinationConfig"]["OnFailure"]["Destination"]

    assert destination["Fn::GetAtt"][0].startswith("ConfirmationDeadLetters")
    assert target["DeadLetterConfig"]["Arn"] == destination
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 10}
    assert (invoked["MaximumRetryAttempts"], invoked["MaximumEventAgeInSeconds"]) == (2, 3600)


def test_the_rule_may_put_into_its_dead_letter_queue(plain, confirming):
    (queue,) = (name for name in plain.of_type("AWS::SQS::Queue") if name.startswith("ConfirmationDead"))
    allowed = [
        statement
        for policy in plain.of_type("AWS::SQS::QueuePolicy").values()
        if {"Ref": queue} in policy["Properties"]["Queues"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]

    assert [(each["Action"], each["Principal"]) for each in allowed] == [
        ("sqs:SendMessage", {"Service": "events.amazonaws.com"})
    ]
    assert all("aws:SourceArn" in str(each["Condition"]) for each in allowed)


def test_the_sweeper_runs_every_minute_and_a_run_that_fails_is_not_piled_on_the_next(plain):
    rule = plain.named("AWS::Events::Rule", "Sweeper")["Properties"]
    invoked = plain.named("AWS::Lambda::EventInvokeConfig", "FunctionsSweepFunction")["Properties"]
    (target,) = rule["Targets"]

    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    assert target["Arn"]["Fn::GetAtt"][0].startswith("FunctionsSweepFunction")
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    assert (invoked["MaximumRetryAttempts"], invoked["MaximumEventAgeInSeconds"]) == (0, 60)


@pytest.mark.parametrize(("rule", "function"), [("Sweeper", "Sweep"), ("Confirmation", "ConfirmEvent")])
def test_a_rule_may_invoke_its_function_and_no_other_rule_may(plain, rule, function):
    (name,) = (each for each in plain.of_type("AWS::Events::Rule") if each.startswith(rule))
    allowed = [
        each["Properties"]
        for each in plain.of_type("AWS::Lambda::Permission").values()
        if each["Properties"]["FunctionName"]["Fn::GetAtt"][0].startswith(f"Functions{function}Function")
    ]

    assert [(each["Principal"], each["SourceArn"]["Fn::GetAtt"]) for each in allowed] == [
        ("events.amazonaws.com", [name, "Arn"])
    ]
