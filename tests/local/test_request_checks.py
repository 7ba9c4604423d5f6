"""The emulator of the local run refuses what AWS refuses, and says so in its log."""

from __future__ import annotations

import json

import pytest
import urllib3

from fanin.local import LocalRun
from fanin.local.emulator_patches.request_checks import REFUSED

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host"
)


def put(run: LocalRun, operands: int) -> tuple[int, dict]:
    """Put a row as another language's SDK would, without the checks of this process."""
    values = {f":v{number}": {"N": str(number)} for number in range(operands)}
    request = {
        "TableName": run.outputs["BatchesTable"],
        "Item": {"pk": {"S": "refused"}, "sk": {"S": str(operands)}},
        "ConditionExpression": f"attribute_not_exists(a) OR a IN ({','.join(values)})",
        "ExpressionAttributeValues": values,
    }
    headers = {"x-amz-target": "DynamoDB_20120810.PutItem", "authorization": AUTHORIZATION}
    answer = urllib3.request("POST", run.endpoint, body=json.dumps(request), headers=headers)
    return answer.status, json.loads(answer.data)


@pytest.mark.parametrize(("operands", "status"), [(100, 200), (101, 400)])
def test_a_request_beyond_a_limit_is_refused(run: LocalRun, operands: int, status: int) -> None:
    found, answer = put(run, operands)

    assert found == status
    if status == 400:
        assert answer["__type"].endswith("ValidationException")
        assert "operands of IN: 101" in answer["message"]
        assert REFUSED in run._emulator.log_tail()
