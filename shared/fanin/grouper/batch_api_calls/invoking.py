"""Calls a Lambda function as batch API: one synchronous invocation for each bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from fanin.errors import Failed
from fanin.grouper.batch_api_calls.timeouts import answered_within
from fanin.grouper.rules.downstream import Answer, Call
from fanin.grouper.rules.model import Outcome, Verdict
from fanin.grouper.rules.responses import (
    ANSWER_BYTES,
    REFUSED_CREDENTIALS,
    answer_of,
    document,
    refusal_of,
    retried,
    retry_after,
)

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

PAYLOAD_BYTES = 6_291_456
"""The payload of a synchronous invocation is smaller than that."""


@dataclass(frozen=True, slots=True)
class LambdaDownstream:
    """Invokes *function* with ``{idempotencyKey, bundleId, target, attempt, tasks: [{taskId, payload}]}``.

    What it returns is the body of the response; None is a success of all. A ``statusCode`` in it is one of
    HTTP. If it raises ``fanin.Failed``, the bundle is refused for that reason. After any other error of the
    function, a missing grant, or an error of Lambda with a status that is retried over HTTP, the bundle is
    called again; any other error, and a payload that is too large, refuse the whole bundle. One that is
    refused is divided.
    """

    client: LambdaClient
    function: str
    timeout: float = 10.0

    def call(self, call: Call) -> Answer:
        """Return the answer within the timeout of *call*."""
        payload = json.dumps({"idempotencyKey": call.idempotency_key, **document(call)}).encode()
        if len(payload) >= PAYLOAD_BYTES:
            too_long = f"the payload has {len(payload)} bytes; an invocation takes less than {PAYLOAD_BYTES}"
            return Answer(Outcome(Verdict.FAIL, too_long))
        return answered_within(call.seconds(self.timeout), lambda: self._invoke(payload))

    def _invoke(self, payload: bytes) -> Answer:
        try:
            answer = self.client.invoke(
                FunctionName=self.function, InvocationType="RequestResponse", Payload=payload
            )
            body = answer["Payload"].read(ANSWER_BYTES + 1)
        except ClientError as error:
            return _refusal(error)
        except (BotoCoreError, OSError) as error:
            return retried(f"no response: {type(error).__name__}")
        if "FunctionError" in answer:
            return _raised(body)
        status = _status(body)
        return answer_of(body) if status is None or 200 <= status < 300 else refusal_of(status)


def _refusal(error: ClientError) -> Answer:
    """Return the answer for an error of Lambda itself, by its status."""
    response: Mapping[str, Any] = error.response
    facts = response["ResponseMetadata"]
    status, code = facts["HTTPStatusCode"], response["Error"]["Code"]
    if status in REFUSED_CREDENTIALS:
        return retried(f"status {status}: {code}")
    return refusal_of(status, retry_after(facts.get("HTTPHeaders", {}).get("retry-after")))


def _status(body: bytes) -> int | None:
    """Return the ``statusCode`` of a function that answers as behind API Gateway; None of any other."""
    try:
        return int(json.loads(body)["statusCode"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _raised(body: bytes) -> Answer:
    """Return the answer for an error that a function raised: Failed refuses the bundle."""
    try:
        error = json.loads(body)
        kind, text = str(error["errorType"]), str(error.get("errorMessage") or "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        kind, text = "unknown error", ""
    if kind == Failed.__name__:
        return Answer(Outcome(Verdict.FAIL, text or kind))
    return retried(f"the function failed: {kind}")
