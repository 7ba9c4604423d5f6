"""Checks every request of every botocore client of this process by the rules of AWS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore
from botocore.exceptions import ClientError

from fanin.local.request_rules import Refused, Tables, check
from tests.request_rules import shapes

TABLES = Tables()
REFUSALS: list[str] = []
"""What was refused and not expected; tests/conftest.py fails the test that it happened in."""
_expected: list[list[str]] = []


def install() -> None:
    """Check the requests of all clients of sessions that are created from now on."""
    botocore.register_initializer(_register)


def _register(session: Any) -> None:
    # After boto3's resources have converted Python values into attribute values.
    session.get_component("event_emitter").register_last("before-parameter-build", refuse)


def refuse(params: dict[str, Any], model: Any, **_: Any) -> None:
    """Raise the ClientError that AWS answers with, if it refuses the request."""
    shapes.note(model.name, params)
    try:
        check(model.name, params, TABLES)
    except Refused as refused:
        (_expected[-1] if _expected else REFUSALS).append(f"{model.name}: {refused}")
        error = {"Error": {"Code": refused.code, "Message": str(refused)}}
        raise ClientError({**error, "ResponseMetadata": {"HTTPStatusCode": 400}}, model.name) from refused


@contextmanager
def expected() -> Iterator[list[str]]:
    """Collect refusals instead of failing the test."""
    _expected.append([])
    try:
        yield _expected[-1]
    finally:
        _expected.pop()
