"""One account of AWS in this process: the emulator's tables, the other services, and each request counted."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber, MockRawResponse

from fanin.aws import clients
from tests.contract import emulated, grouper_tables, moto_clients, queue_table, tables
from tests.crashes.naming import ACCOUNT, DOORBELLS, ENVIRONMENT, INDEX, LAKE, OUTCOMES, SECRET
from tests.crashes.outside import Outside
from tests.crashes.process import Clock, forget, under

CLIENTS = (
    *(clients.dynamodb, clients.sqs, clients.events, clients.announcements, clients.s3),
    *(clients.functions, clients.secrets, clients.workflows, clients.callbacks),
)


class Killed(BaseException):
    """The process has ended; what it still runs reaches nothing."""


@dataclass(frozen=True)
class Saved:
    """The account at one moment."""

    tables: bytes
    outside: Outside
    at: datetime


@dataclass
class Account:
    """The services of one account. *before* and *after* are called around each request, with its number."""

    clock: Clock
    outside: Outside = field(default_factory=Outside)
    requests: list[str] = field(default_factory=list)
    before: Callable[[int], None] | None = None
    after: Callable[[int], None] | None = None
    dead: bool = False

    def save(self) -> Saved:
        """Return a copy of everything that outlives a process."""
        return Saved(emulated.save(), copy.deepcopy(self.outside), self.clock.at)

    def restore(self, saved: Saved) -> None:
        """Set everything back to *saved*, and start a new process."""
        emulated.restore(saved.tables)
        self.outside, self.clock.at = copy.deepcopy(saved.outside), saved.at
        self.restart()

    def restart(self) -> None:
        """Start a new process, whose requests are counted from 1."""
        forget()
        self.requests, self.before, self.after, self.dead = [], None, None, False

    def send(self, name: str, request: Callable[[], Any]) -> Any:
        """Send a request, unless the process is dead; count it."""
        if self.dead:
            raise Killed
        self.requests.append(name)
        number = len(self.requests)
        if self.before:
            self.before(number)
        answer = request()
        if self.after:
            self.after(number)
        return answer

    def kill(self) -> None:
        """End the process here."""
        self.dead = True
        raise Killed

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each stored row with the name of its table."""
        return emulated.rows()


@contextmanager
def opened() -> Iterator[Account]:
    """Yield an account with empty tables; the clients of this process send to it."""
    clock = Clock()
    with (
        patch.dict(os.environ, ENVIRONMENT),
        mock_aws(),
        under(clock),
        _replaced(Account(clock, Outside(secrets={SECRET: "a-key-of-16-bytes-or-more"}))) as account,
    ):
        _renew_clients()
        try:
            _create_tables()
            account.restart()
            yield account
        finally:
            _renew_clients()
            forget()


@contextmanager
def _replaced(account: Account) -> Iterator[Account]:
    """Have *account* answer what the clients and handlers of this process send."""
    with (
        patch.object(BotocoreStubber, "__call__", _answering(account)),
        patch.object(urllib3.PoolManager, "request", _posting(account)),
    ):
        yield account


def _renew_clients() -> None:
    from functions.wiring import metered  # a handler is imported with the environment set

    metered.dynamodb.cache_clear()
    for each in CLIENTS:
        each.cache_clear()


def _create_tables() -> None:
    client = moto_clients.client("dynamodb")
    tables.create_tables(client)
    grouper_tables.create_tables(client)
    queue_table.create_queue_table(client)
    for name in (OUTCOMES, INDEX):
        client.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )


def _answering(account: Account) -> Callable[..., AWSResponse | None]:
    """Return what stands in for the network below botocore: each request of each client comes here."""

    def answer(_: Any, event_name: str, request: AWSPreparedRequest, **__: Any) -> AWSResponse | None:
        if urlsplit(request.url).hostname == LOOPBACK:
            return None  # a local run of this process, which is no part of the account
        service = urlsplit(request.url).netloc.split(".")[0]
        service, operation = SERVICES.get(service, service), event_name.rsplit(".", 1)[-1]

        def sent() -> AWSResponse | None:
            if service == "dynamodb":
                return emulated.answer(service, request)
            status, headers, body = account.outside.answer(
                service, operation, request.url, request.headers, _body(request)
            )
            return AWSResponse(request.url, status, headers, MockRawResponse(body))  # type: ignore[arg-type]

        found: AWSResponse | None = account.send(f"{service}.{operation}", sent)
        return found

    return answer


LOOPBACK = "127.0.0.1"
SERVICES = {"states": "stepfunctions", "archive": "s3", "results": "s3", LAKE: "s3"}


def _body(request: AWSPreparedRequest) -> bytes:
    body = request.body
    if hasattr(body, "read"):
        body.seek(0)
        body = body.read()
    return body.encode() if isinstance(body, str) else bytes(body or b"")


def _posting(account: Account) -> Callable[..., urllib3.HTTPResponse]:
    """Return what stands in for the servers of users."""

    def request(
        _pool: Any, method: str, url: str, *, headers: Any, body: bytes = b"", **_: Any
    ) -> urllib3.HTTPResponse:
        def sent() -> urllib3.HTTPResponse:
            status = account.outside.call(url, headers)
            content = io.BytesIO(account.outside.returned(body))
            return urllib3.HTTPResponse(content, status=status, preload_content=False)

        found: urllib3.HTTPResponse = account.send(f"http.{method}", sent)
        return found

    return request


__all__ = ["ACCOUNT", "DOORBELLS", "Account", "Killed", "Saved", "opened"]
