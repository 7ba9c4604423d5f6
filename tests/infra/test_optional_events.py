"""The events that a stack publishes only where it is asked for them."""

from __future__ import annotations

import json

import pytest

from fanin_cdk.settings.config import ConfigError
from infra.config import StackConfig
from tests.infra.synthesis import handler_of
from tests.infra.test_functions import WRITE_LOG, X_RAY, grants_of, role_of, target_of

READ = {
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
}
STREAM = "arn:aws:dynamodb:eu-west-1:123456789012:table/new/stream/2026-11-22T08:00:00.000"


def function_of(assembly, name):
    (found,) = (
        each["Properties"]
        for each in assembly.of_type("AWS::Lambda::Function").values()
        if handler_of(each) == name
    )
    return found


def test_the_stream_of_jobs_is_read_for_the_dead_alone(everything):
    from fanin_cdk.event_delivery.job_events import DIED

    mapping = everything.named("AWS::Lambda::EventSourceMapping", "FunctionsPublishDeadJobs")["Properties"]
    (pattern,) = mapping["FilterCriteria"]["Filters"]
    (queue,) = (name for name in everything.of_type("AWS::SQS::Queue") if name.startswith("JobEvents"))

    assert json.loads(pattern["Pattern"]) == DIED
    assert mapping["EventSourceArn"]["Fn::GetAtt"][1] == "StreamArn"
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (mapping["BisectBatchOnFunctionError"], mapping["StartingPosition"]) == (True, "TRIM_HORIZON")
    assert 3600 <= mapping["MaximumRecordAgeInSeconds"] <= 43200
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0] == queue


def test_the_function_may_read_the_stream_put_events_and_no_more(everything):
    function, granted = function_of(everything, "publish_dead_jobs"), {}
    for actions, resource in grants_of(everything, role_of(function)):
        granted.setdefault(target_of(resource)[:9], set()).update(actions)

    assert granted == {
        "JobsTable": READ,
        "EventsBus": {"events:PutEvents"},
        "JobEvents": {"sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"},
        "Functions": set(WRITE_LOG),
        "*": set(X_RAY),
    }


def test_the_events_of_jobs_need_no_group_batcher():
    assert StackConfig.from_context({"events": "JobDead", "grouper": False}).events == ("JobDead",)


def test_a_restored_table_of_jobs_needs_its_stream():
    restored = {"protect_data": True, "restored_tables": f"jobs={STREAM.partition('/stream')[0]}"}

    assert StackConfig.from_context(restored).restored_tables
    with pytest.raises(ConfigError, match="restored_tables names no stream of jobs"):
        StackConfig.from_context({**restored, "events": "JobDead"})
    assert StackConfig.from_context({**restored, "restored_tables": f"jobs={STREAM}", "events": "JobDead"})
