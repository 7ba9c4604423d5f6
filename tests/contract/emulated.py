"""The local run's tables within this process: clients of botocore reach them without a server.

It takes a tenth of moto's time for a transaction, of which moto copies all tables.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from ministack.core.responses import set_request_account_id
from ministack.services import dynamodb, dynamodb_streams
from moto.core.botocore_stubber import MockRawResponse

from fanin.local.emulator_patches import read_units

ACCOUNT = "123456789012"
"""That of moto."""
SERVICES = {"dynamodb": dynamodb, "dynamodb-streams": dynamodb_streams}
_in_turn = Lock()

read_units.apply()


def service_of(event: str) -> str:
    """Return the service of botocore's ``before-send.dynamodb.GetItem``, or nothing if it has no tables."""
    name = event.split(".")[1]
    return name if name in SERVICES else ""


def answer(service: str, request: AWSPreparedRequest) -> AWSResponse:
    """Return what the emulator answers, one request at a time, as it does in a run."""
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    with _in_turn:
        set_request_account_id(ACCOUNT)
        handling = SERVICES[service].handle_request("POST", "/", headers, request.body or b"", {})
        try:
            handling.send(None)
        except StopIteration as handled:
            status, found, body = handled.value
    return AWSResponse(request.url, status, found, MockRawResponse(body))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def attach(client: Any) -> Any:
    """Return *client*, whose requests go unsigned to the emulator of this process without ``mock_aws``."""
    client.meta.events.register_first("before-send.dynamodb", _answer_event)
    client.meta.events.unregister("request-created.dynamodb", client._request_signer.handler)
    return client


def _answer_event(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
    return answer("dynamodb", request)


def empty() -> None:
    """Delete all tables."""
    dynamodb.reset()


def created(create: Callable[[], None]) -> bytes:
    """Return the tables that *create* creates, for ``restore``."""
    before = list(dynamodb._tables.all_items())
    empty()
    create()
    tables = save()
    empty()
    restore(pickle.dumps(before))
    return tables


def save() -> bytes:
    """Return a copy of all tables, for ``restore``."""
    return pickle.dumps(list(dynamodb._tables.all_items()))


def restore(saved: bytes) -> None:
    """Set the tables that were saved, with their rows, and forget the transactions since then."""
    dynamodb._txn_idempotency.clear()
    for (account, region, name), table in pickle.loads(saved):  # noqa: S301 - our own bytes
        dynamodb._tables.set_scoped(account, region, name, table)


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each stored row with the name of its table."""
    for (_, _, name), table in sorted(dynamodb._tables.all_items(), key=lambda each: each[0]):
        for partition in table["items"].values():
            for row in partition.values():
                yield name, row
