"""What the contract suites run on: the emulator within this process, or an engine that ``--endpoint`` names.

That is ``moto`` under a lock, ``emulator`` behind its server, ``dynalite``, the URL of an engine, the folder
of Amazon's DynamoDB Local (``--dynamodb`` names these two, too), or ``aws``, which takes the credentials of
the environment if ``FANIN_CONTRACT_ACCOUNT`` is the number of their account. There, tables are created once
for the process, with a prefix of their own, emptied after each test and deleted at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from fanin.local.dynamodb_engine import amazon
from fanin.local.dynamodb_engine.dynamodb_option import Address, parse
from fanin.local.emulator_process import emulator
from tests.contract import dynalite, emulated, moto_clients
from tests.contract.tables import deep_recursion

Create = Callable[[Any], None]

CONFIRMED = "FANIN_CONTRACT_ACCOUNT"
INDEX_LAG_SECONDS = 2.0
"""How long a query of a global index waits in an account, so that it has what was written before it."""


class Engine(Protocol):
    """Runs one test after the other, each on empty tables."""

    def emptied(self) -> Any:
        """Return the context in which a test runs."""

    def client(self, create: Create) -> Any:
        """Return a client, after *create* created its tables."""


class Within:
    """The emulator's tables within this process."""

    def __init__(self) -> None:
        self.created: dict[Create, bytes] = {}

    @contextmanager
    def emptied(self) -> Iterator[None]:
        emulated.empty()
        yield

    def client(self, create: Create) -> Any:
        client = emulated.attach(moto_clients.client("dynamodb"))
        if create not in self.created:
            self.created[create] = emulated.created(lambda: create(client))
        emulated.restore(self.created[create])
        return client


class Moto:
    """moto within this process, one request at a time."""

    @contextmanager
    def emptied(self) -> Iterator[None]:
        with moto_clients.tables_of_moto(), mock_aws(), deep_recursion():
            yield

    def client(self, create: Create) -> Any:
        client = moto_clients.client("dynamodb")
        create(client)
        return client


class Endpoint:
    """An engine behind a URL, or DynamoDB itself."""

    def __init__(self, make: Callable[[], Any], lag: float = 0.0) -> None:
        self.make, self.lag = make, lag
        self.prefix = f"fanin-contract-{uuid4().hex[:8]}-"
        self.own = self._client()
        self.created: dict[Create, list[str]] = {}
        self.used: set[Create] = set()

    @contextmanager
    def emptied(self) -> Iterator[None]:
        self.used.clear()
        try:
            yield
        finally:
            for name in [name for create in self.used for name in self.created[create]]:
                _empty(self.own, name)

    def client(self, create: Create) -> Any:
        client = self._client()
        if create not in self.created:
            self.created[create] = _names(create)
            create(client)
            for name in self.created[create]:
                client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        self.used.add(create)
        return client

    def close(self) -> None:
        """Delete the tables."""
        for name in [name for names in self.created.values() for name in names]:
            self.own.delete_table(TableName=name)
        self.created.clear()

    def _client(self) -> Any:
        client = self.make()
        send = client._make_api_call

        def prefixed(operation: str, request: dict[str, Any]) -> Any:
            if operation == "Query" and "IndexName" in request and not request.get("ConsistentRead"):
                time.sleep(self.lag)
            answer = send(operation, _renamed(request, lambda name: self.prefix + name))
            return _renamed(answer, lambda name: name.removeprefix(self.prefix))

        client._make_api_call = prefixed
        return client


def _renamed(value: dict[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """Return a request or an answer with other names of tables."""
    changed = dict(value)
    for name in value.keys() & {"TableName"}:
        changed[name] = rename(value[name])
    for name in value.keys() & {"RequestItems", "Responses", "UnprocessedKeys", "UnprocessedItems"}:
        if isinstance(value[name], dict):
            changed[name] = {rename(table): some for table, some in value[name].items()}
    if "TransactItems" in value:
        changed["TransactItems"] = [
            {kind: _renamed(action, rename) for kind, action in each.items()}
            for each in value["TransactItems"]
        ]
    return changed


def _names(create: Create) -> list[str]:
    """Return the names of the tables that *create* creates."""

    names: list[str] = []

    class Noting:
        def create_table(self, TableName: str, **_: Any) -> None:  # noqa: N803 - botocore's name
            names.append(TableName)

    create(Noting())
    return names


def _empty(client: Any, table: str) -> None:
    """Delete all items of *table*."""
    described = client.describe_table(TableName=table)["Table"]
    keys = [each["AttributeName"] for each in described["KeySchema"]]
    names = {f"#{at}": name for at, name in enumerate(keys)}
    pages = client.get_paginator("scan").paginate(
        TableName=table,
        ProjectionExpression=",".join(names),
        ExpressionAttributeNames=names,
        ConsistentRead=True,
    )
    stored = [item for page in pages for item in page["Items"]]
    for first in range(0, len(stored), 25):
        deletes = [{"DeleteRequest": {"Key": key}} for key in stored[first : first + 25]]
        unprocessed: Any = {table: deletes}
        while unprocessed:
            unprocessed = client.batch_write_item(RequestItems=unprocessed).get("UnprocessedItems")


def _at(url: str, key: str = "local") -> Endpoint:
    """Return the engine at *url*, which takes any credentials."""
    session = boto3.Session(key, "local", region_name="us-east-1")
    retries = Config(retries={"mode": "standard", "total_max_attempts": 1})
    return Endpoint(lambda: session.client("dynamodb", endpoint_url=url, config=retries))


def _emulator(stack: ExitStack) -> Endpoint:
    started = emulator.start(0)
    stack.callback(started.stop)
    emulator.wait_until_ready(started)
    return _at(started.endpoint)


def _dynalite(stack: ExitStack) -> Endpoint:
    engine = _at(stack.enter_context(dynalite.started()))
    make = engine.make
    engine.make = lambda: dynalite.completed(make())
    return engine


def _named(text: str, stack: ExitStack) -> Endpoint:
    """Return the engine of a URL, or of the folder of DynamoDB Local."""
    given = parse(text)
    if isinstance(given, Address):
        return _at(given.url)
    work = stack.enter_context(TemporaryDirectory())
    started = amazon.start(given.path, Path(work))
    return _at(started.url, started.key)


def _account() -> Endpoint:
    """Return DynamoDB in the account of the environment's credentials, if it is confirmed."""
    found = boto3.client("sts").get_caller_identity()["Account"]
    if os.environ.get(CONFIRMED) != found:
        raise pytest.UsageError(
            f"the credentials are of the account {found}: set {CONFIRMED}={found} to create tables there"
        )
    return Endpoint(lambda: boto3.client("dynamodb"), INDEX_LAG_SECONDS)


ENGINES: dict[str, Callable[[ExitStack], Endpoint]] = {
    "emulator": _emulator,
    "dynalite": _dynalite,
    "aws": lambda _: _account(),
}


@contextmanager
def opened(endpoint: str | None) -> Iterator[Engine]:
    """Yield the engine of ``--endpoint``; none is the emulator within this process."""
    with ExitStack() as stack:
        if endpoint is None or endpoint == "moto":
            yield Moto() if endpoint else Within()
            return
        found = ENGINES[endpoint](stack) if endpoint in ENGINES else _named(endpoint, stack)
        stack.callback(found.close)
        yield found


_open: list[Engine] = [Within()]


def emptied() -> Any:
    """Return the context of a test on the engine of this session."""
    return _open[-1].emptied()


def client(create: Create) -> Any:
    """Return a client of the engine of this session, after *create* created its tables."""
    return _open[-1].client(create)


@contextmanager
def used(endpoint: str | None) -> Iterator[None]:
    """Use the engine of *endpoint*."""
    with opened(endpoint) as engine:
        _open.append(engine)
        try:
            yield
        finally:
            _open.pop()
