"""A template with one Pipe, as the CDK writes it."""

from __future__ import annotations

import json
from typing import Any

PHYSICAL = {"Table": "table-1", "Describe": "describe-1", "Bus": "bus-1", "Dead": "http://queue/dead"}


def attribute(logical_id: str, name: str = "Arn") -> dict[str, Any]:
    return {"Fn::GetAtt": [logical_id, name]}


def template(
    *patterns: dict[str, Any],
    retries: int = 2,
    batch_size: int = 10,
    detail_type: str = "BatchCompleted",
) -> dict[str, Any]:
    source: dict[str, Any] = {
        "DynamoDBStreamParameters": {
            "StartingPosition": "TRIM_HORIZON",
            "BatchSize": batch_size,
            "MaximumRetryAttempts": retries,
            "OnPartialBatchItemFailure": "AUTOMATIC_BISECT",
            "DeadLetterConfig": {"Arn": attribute("Dead")},
        }
    }
    if patterns:
        source["FilterCriteria"] = {"Filters": [{"Pattern": json.dumps(each)} for each in patterns]}
    expiring = {"TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True}}
    return {
        "Resources": {
            "Table": {"Type": "AWS::DynamoDB::Table", "Properties": expiring},
            "Plain": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
            "Pipe": {"Type": "AWS::Pipes::Pipe", "Properties": _pipe(source, detail_type)},
        }
    }


def _pipe(source: dict[str, Any], detail_type: str) -> dict[str, Any]:
    return {
        "Source": attribute("Table", "StreamArn"),
        "SourceParameters": source,
        "Enrichment": attribute("Describe"),
        "Target": attribute("Bus"),
        "TargetParameters": {"EventBridgeEventBusParameters": {"Source": "fanin", "DetailType": detail_type}},
    }
