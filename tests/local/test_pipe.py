from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from fanin.local import LocalRunError
from fanin.local.pipe import Pipe, Undelivered, as_delivered, referred
from tests.local.template import PHYSICAL, template

ENDING = {"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"state": {"S": ["COMPLETE"]}}}}


def record(state: str, event: str = "MODIFY") -> dict:
    return {"eventName": event, "dynamodb": {"SequenceNumber": "1", "NewImage": {"state": {"S": state}}}}


def test_a_pipe_is_read_from_the_template_with_the_deployed_names():
    pipe = Pipe.of(template(ENDING, retries=7, batch_size=3), PHYSICAL)

    assert (pipe.table, pipe.enrichment, pipe.bus) == ("table-1", "describe-1", "bus-1")
    assert pipe.dead_letter_queue == "http://queue/dead"
    assert (pipe.batch_size, pipe.retries) == (3, 7)
    assert (pipe.source, pipe.detail_type) == ("fanin", "BatchCompleted")


@pytest.mark.parametrize(
    ("given", "passes"),
    [(record("COMPLETE"), True), (record("OPEN"), False), (record("COMPLETE", "INSERT"), False), ({}, False)],
)
def test_the_filter_of_the_template_decides(given, passes):
    pipe = Pipe.of(template(ENDING), PHYSICAL)

    assert pipe.wants(given) is passes


@pytest.mark.parametrize(
    ("given", "passes"),
    [(record("COMPLETE"), True), (record("OPEN", "INSERT"), True), (record("OPEN"), False)],
)
def test_of_several_filters_one_is_enough(given, passes):
    pipe = Pipe.of(template(ENDING, {"eventName": ["INSERT"]}), PHYSICAL)

    assert pipe.wants(given) is passes


def test_without_a_filter_every_record_passes():
    assert Pipe.of(template(), PHYSICAL).wants(record("OPEN"))


def test_each_answer_of_the_enrichment_is_one_event_of_the_templates_kind():
    entries = Pipe.of(template(), PHYSICAL).entries([{"a": 1}, {"b": 2}])

    assert [json.loads(entry["Detail"]) for entry in entries] == [{"a": 1}, {"b": 2}]
    assert {(e["Source"], e["DetailType"], e["EventBusName"]) for e in entries} == {
        ("fanin", "BatchCompleted", "bus-1")
    }


def test_a_path_finds_the_kind_of_each_event_in_its_own_detail():
    pipe = Pipe.of(template(detail_type="$.what.kind"), PHYSICAL)

    entries = pipe.entries([{"what": {"kind": "BatchCompleted"}}, {"what": {"kind": "BatchExpired"}}])

    assert [entry["DetailType"] for entry in entries] == ["BatchCompleted", "BatchExpired"]
    assert [json.loads(entry["Detail"])["what"]["kind"] for entry in entries] == [
        "BatchCompleted",
        "BatchExpired",
    ]


@pytest.mark.parametrize(
    "detail", [{}, {"what": "kind"}, {"what": {"kind": ""}}, {"what": {"kind": 7}}, "text"]
)
def test_a_detail_without_its_kind_is_not_sent_under_another(detail):
    pipe = Pipe.of(template(detail_type="$.what.kind"), PHYSICAL)

    with pytest.raises(Undelivered, match=r"\$\.what\.kind"):
        pipe.entries([detail])


def test_a_record_is_handed_on_as_plain_json_with_its_stream():
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    raw = {"dynamodb": {"ApproximateCreationDateTime": moment, "NewImage": {"salt": {"B": b"\xff\x00"}}}}

    delivered = as_delivered(raw, "arn:stream")

    assert delivered == {
        "dynamodb": {
            "ApproximateCreationDateTime": moment.timestamp(),
            "NewImage": {"salt": {"B": "/wA="}},
        },
        "eventSourceARN": "arn:stream",
    }


def test_references_of_both_kinds_are_understood():
    assert referred({"Ref": "Bus"}) == "Bus"
    assert referred({"Fn::GetAtt": ["Bus", "Arn"]}) == "Bus"
    with pytest.raises(LocalRunError):
        referred("arn:aws:events:elsewhere")


def test_a_second_pipe_is_refused_and_not_forgotten():
    two = template()
    two["Resources"]["Another"] = two["Resources"]["Pipe"]

    with pytest.raises(LocalRunError, match="2 Pipes"):
        Pipe.of(two, PHYSICAL)
