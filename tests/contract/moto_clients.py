"""Clients of AWS in this process: within ``mock_aws``, which empties everything before each test.

moto answers them, but for DynamoDB: the emulator of the local run has the tables (``emulated``).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import boto3
from botocore.signers import RequestSigner
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.models import MockAWS, botocore_stubber
from moto.dynamodb.models import DynamoDBBackend

from tests.contract import emulated

_of_moto: list[bool] = [False]


def client(service: str, **options: Any) -> Any:
    """Return a client of its own for *service*; *options* are those of ``boto3.client``."""
    return _session().client(service, **options) if options else _copied(_first_client(service))


@cache
def _first_client(service: str) -> Any:
    return _session().client(service)


def _copied(client: Any) -> Any:
    """Return a client with handlers of its own: a copy takes a hundredth of the time of a new one."""
    own = object.__new__(type(client))
    own.__dict__.update(client.__dict__)
    own.meta, own._endpoint = copy.copy(client.meta), copy.copy(client._endpoint)
    own.meta.events = own._endpoint._event_emitter = copy.copy(client.meta.events)
    own.meta.events._alias_name_cache = client.meta.events._alias_name_cache
    return own


def resource(service: str) -> Any:
    """Return a resource of boto3 for *service*, with a client of its own."""
    return _session().resource(service)


@cache
def _session() -> Any:
    """One for the process: a session that is made anew reads the service's model again, for 50 ms."""
    return boto3.Session("none", "none", region_name="us-east-1")


@contextmanager
def tables_of_moto() -> Iterator[None]:
    """Have moto answer for DynamoDB, too."""
    _of_moto.append(True)
    try:
        with patch.object(DynamoDBBackend, "batch_execute_statement", _inserted):
            yield
    finally:
        _of_moto.pop()


def _inserted(backend: DynamoDBBackend, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run statements that insert: moto's own INSERT takes no parameters, and replaces a row."""
    found = []
    for each in statements:
        _, table, row = each["Statement"].split('"')
        pairs = (pair.split(":") for pair in row.partition("{")[2].rstrip("}").split(","))
        values = {"?": each["Parameters"][0], "true": {"BOOL": True}}
        item = {name.strip("'"): values.get(value, {"N": value}) for name, value in pairs}
        if stored := backend.get_item(table, {"pk": item["pk"]}):
            found.append({"TableName": table, "Error": {"Code": "DuplicateItem", "Message": str(stored)}})
        else:
            backend.put_item(table, item)
            found.append({"TableName": table})
    return found


def _answer_in_turn() -> None:
    """Make moto answer one request at a time: a transaction copies tables, which others must not change."""
    lock, answer = RLock(), BotocoreStubber.__call__

    def locked(self: Any, event_name: str, request: Any, **more: Any) -> Any:
        service = emulated.service_of(event_name)
        if service and self.enabled and not _of_moto[-1] and _is_aws(request.url):
            return emulated.answer(service, request)
        with lock:
            return answer(self, event_name, request, **more)

    BotocoreStubber.__call__ = locked  # type: ignore[method-assign]


def _sign_nothing_for_the_emulator() -> None:
    """Leave a request unsigned that the emulator answers: it reads no signature, a quarter of the time."""
    sign = RequestSigner.handler

    def handler(self: Any, operation_name: Any = None, request: Any = None, **more: Any) -> Any:
        within = botocore_stubber.enabled and not _of_moto[-1]
        if within and self._signing_name == "dynamodb" and _is_aws(request.url):
            return None
        return sign(self, operation_name, request, **more)

    RequestSigner.handler = handler  # type: ignore[method-assign]


def _is_aws(url: str) -> bool:
    return (urlsplit(url).hostname or "").endswith(".amazonaws.com")


def _empty_with_moto() -> None:
    """Have ``mock_aws`` empty the emulator's tables, too."""
    reset = MockAWS.reset

    def emptied(self: Any) -> None:
        reset(self)
        emulated.empty()

    MockAWS.reset = emptied  # type: ignore[method-assign]


_answer_in_turn()
_sign_nothing_for_the_emulator()
_empty_with_moto()
