"""Where an account has its tables: moto in this process, or an engine that ``--dynamodb`` names."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.botocore_stubber import MockRawResponse
from moto.dynamodb.models import dynamodb_backends

from fanin.local.endpoint import amazon
from fanin.local.endpoint.checking import checked
from fanin.local.endpoint.engine import Engine
from fanin.local.endpoint.given import SETTING, Address, parse
from tests.crashes.naming import ACCOUNT, REGION

Row = dict[str, Any]
Moto = Callable[..., AWSResponse | None]


class Store(Protocol):
    """The tables of an account."""

    def answer(self, moto: Moto, stub: Any, event: str, request: AWSPreparedRequest, **more: Any) -> Any:
        """Return the answer to *request*, of DynamoDB."""

    def save(self) -> Any:
        """Return a copy of all tables."""

    def restore(self, saved: Any) -> None:
        """Set all tables back to *saved*."""

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield each row with the name of its table."""


class MotoStore:
    """The tables of moto in this process."""

    def answer(self, moto: Moto, stub: Any, event: str, request: AWSPreparedRequest, **more: Any) -> Any:
        return moto(stub, event, request, **more)

    def save(self) -> Mapping[str, Any]:
        return copy.deepcopy(dict(self._tables))

    def restore(self, saved: Mapping[str, Any]) -> None:
        self._tables.clear()
        self._tables.update(copy.deepcopy(saved))

    def rows(self) -> Iterator[tuple[str, Row]]:
        for name, table in sorted(self._tables.items()):
            for item in table.all_items():
                yield name, item.to_json()["Attributes"]

    @property
    def _tables(self) -> Any:
        return dynamodb_backends[ACCOUNT][REGION].tables


class EngineStore:
    """The tables that this process made in *engine*, and deletes at its end."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.keys: dict[str, tuple[str, ...]] = {}

    def answer(self, _: Moto, __: Any, ___: str, request: AWSPreparedRequest, **____: Any) -> Any:
        target = request.headers["X-Amz-Target"]
        target = target.decode() if isinstance(target, bytes) else target
        body = request.body if isinstance(request.body, bytes) else request.body.encode()
        status, headers, answer = self.engine.send(target, body)
        if target.endswith(".CreateTable") and status == 200:
            made = json.loads(body)
            self.keys[made["TableName"]] = tuple(each["AttributeName"] for each in made["KeySchema"])
        return AWSResponse(request.url, status, headers, MockRawResponse(answer))  # type: ignore[arg-type]

    def save(self) -> dict[str, dict[str, Row]]:
        return {name: self._rows(name) for name in self.keys}

    def restore(self, saved: Mapping[str, Mapping[str, Row]]) -> None:
        for name in self.keys:
            now = self._rows(name)
            for key in now.keys() - saved[name].keys():
                self.engine.ask("DeleteItem", {"TableName": name, "Key": json.loads(key)})
            for key, row in saved[name].items():
                if now.get(key) != row:
                    self.engine.ask("PutItem", {"TableName": name, "Item": row})

    def rows(self) -> Iterator[tuple[str, Row]]:
        for name in sorted(self.keys):
            yield from ((name, row) for row in self._rows(name).values())

    def close(self) -> None:
        """Delete the tables."""
        for name in self.keys:
            self.engine.ask("DeleteTable", {"TableName": name})

    def _rows(self, name: str) -> dict[str, Row]:
        """Return the rows of a table by their keys, as JSON."""
        found: dict[str, Row] = {}
        page: Row = {"LastEvaluatedKey": None}
        while "LastEvaluatedKey" in page:
            last = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page["LastEvaluatedKey"] else {}
            page = self.engine.ask("Scan", {"TableName": name, "ConsistentRead": True, **last})
            for row in page["Items"]:
                found[json.dumps({key: row[key] for key in self.keys[name]}, sort_keys=True)] = row
        return found


@contextmanager
def opened_store() -> Iterator[Store]:
    """Yield the tables in the engine that ``FANIN_LOCAL_DYNAMODB`` names, or those of moto."""
    named = os.environ.get(SETTING)
    if not named:
        yield MotoStore()
        return
    given = parse(checked(named))
    with tempfile.TemporaryDirectory() as work:
        engine = Engine(given.url) if isinstance(given, Address) else amazon.start(given.path, Path(work))
        store = EngineStore(engine)
        try:
            yield store
        finally:
            store.close()
