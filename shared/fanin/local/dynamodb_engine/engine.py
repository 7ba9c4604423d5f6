"""The connection to an engine of DynamoDB, which takes any credentials and verifies no signature."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import urllib3

from fanin.local.emulator_process.connection import CREDENTIALS, REGION
from fanin.local.errors import LocalRunError

TABLES, STREAMS = "DynamoDB_20120810", "DynamoDBStreams_20120810"
ANSWER_SECONDS = 30.0
CONNECT_SECONDS = 5.0
CONNECTIONS = 32
DAY = "20000101"
JSON = "application/x-amz-json-1.0"
PASSED_ON = frozenset({"content-type", "x-amz-crc32", "x-amzn-requestid"})
Answer = tuple[int, dict[str, str], bytes]


class EngineLost(LocalRunError):
    """The engine gave no answer; it may have applied the request."""


class EngineRefusal(LocalRunError):
    """The engine answered with an error: ``code`` as AWS names it, empty if it has none, and ``message``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code} {message}".strip())
        self.code, self.message = code, message

    @classmethod
    def of(cls, operation: str, status: int, answer: bytes) -> EngineRefusal:
        """Return the error of an *answer* with another *status* than 200, or that is no JSON."""
        try:
            document = json.loads(answer)
            kind, text = document.get("__type", ""), document.get("message") or document.get("Message") or ""
        except (ValueError, AttributeError):
            start = answer[:100].decode(errors="replace")
            return cls("", f"{operation} is answered by {status} and {start!r}")
        return cls(str(kind).rpartition("#")[2], str(text) or f"{operation} is refused")


class Engine:
    """An engine at *url*. *key*: the access key of its requests; DynamoDB Local has tables for each."""

    def __init__(self, url: str, key: str = CREDENTIALS["AWS_ACCESS_KEY_ID"]) -> None:
        self.url, self.key = url, key
        credential = f"{key}/{DAY}/{REGION}/dynamodb/aws4_request"
        self._headers = {
            "authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0",
            "x-amz-date": f"{DAY}T000000Z",
            "content-type": JSON,
        }
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS)
        self._pool = urllib3.PoolManager(retries=False, timeout=timeout, maxsize=CONNECTIONS)

    def send(self, target: str, body: bytes) -> Answer:
        """Return the status, headers and body that answer *body*. Raises EngineLost."""
        headers = {**self._headers, "x-amz-target": target}
        try:
            answer = self._pool.urlopen("POST", f"{self.url}/", body=body, headers=headers, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise EngineLost(f"{self.url} does not answer: {error}") from error
        kept = {name.lower(): value for name, value in answer.headers.items() if name.lower() in PASSED_ON}
        return answer.status, kept, answer.data

    def ask(self, operation: str, request: Mapping[str, Any], service: str = TABLES) -> dict[str, Any]:
        """Return the answer to *request* as a document. Raises EngineLost and EngineRefusal."""
        status, _, body = self.send(f"{service}.{operation}", json.dumps(request).encode())
        if status != 200:
            raise EngineRefusal.of(operation, status, body)
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise EngineRefusal.of(operation, status, body)
        return found


def require(engine: Engine) -> None:
    """Raise LocalRunError unless *engine* answers, is one of DynamoDB, and has transactions."""
    url = engine.url
    no_dynamodb = f"--dynamodb: {url} is no DynamoDB that takes any credentials"
    try:
        listed = engine.ask("ListTables", {})
    except EngineLost as error:
        raise LocalRunError(f"--dynamodb: {error}; start the engine first, or give its URL") from error
    except EngineRefusal as error:
        raise LocalRunError(f"{no_dynamodb}: {error}") from error
    if "TableNames" not in listed:
        raise LocalRunError(f"{no_dynamodb}: its answer to ListTables has no TableNames")
    probe = {"Get": {"TableName": "fanin-no-such-table", "Key": {"id": {"S": "0"}}}}
    try:
        engine.ask("TransactGetItems", {"TransactItems": [probe]})
    except EngineRefusal as error:
        if error.code == "UnknownOperationException" or not error.code:
            raise LocalRunError(
                f"--dynamodb: {url} has no transactions, which fanin needs; Amazon's DynamoDB Local has them"
            ) from error
