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


def bus_of(assembly):
    (name,) = assembly.of_type("AWS::Events::EventBus")
    return name


@pytest.fixture(scope="module")
def confirming(default):
    """The rule that has events confirmed."""
    return default.named("AWS::Events::Rule", "Confirmation")["Properties"]


def event(detail_type, source="fanin"):
    return {"version": "0", "source": source, "detail-type": detail_type, "detail": {"batchId": "0199"}}


@pytest.mark.parametrize("detail_type", EVENT_TYPES.values())
def test_every_ending_event_of_the_bus_is_confirmed(default, confirming, detail_type):
    (target,) = confirming["Targets"]

    assert EventPattern.load(json.dumps(confirming["EventPattern"])).matches_event(event(detail_type))
    assert confirming["EventBusName"] == {"Ref": bus_of(default)}
    assert target["Arn"]["Fn::GetAtt"][0].startswith("FunctionsConfirmEvent")


@pytest.mark.parametrize("other", [event("BatchCompleted", source="theirs"), event("JobFinished")])
def test_no_other_event_is_confirmed(confirming, other):
    assert not EventPattern.load(json.dumps(confirming["EventPattern"])).matches_event(other)
