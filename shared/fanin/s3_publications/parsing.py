"""Parses the sources and queues of a deployment, and the messages of publications; refuses unknown names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from fanin.errors import InvalidRequest
from fanin.grouper.settings.parsing import Rows, each_row, only, text_in
from fanin.s3_publications.allowing import Allowed
from fanin.s3_publications.model import Order
from fanin.s3_publications.object_created import Created, created_object

NAMES = {"source", "queue", "tenants", "onCreated", "chunk", "rate"}


def publications_of(rows: Rows) -> tuple[Allowed, ...]:
    """Return what *rows* allow: ``[{"source": "s3://lake/in/", "queue": ARN}, ...]``.

    Each may have a list of ``"tenants"``, and ``"onCreated": true`` with ``"chunk"`` and ``"rate"``. Raises
    InvalidRequest for anything else, and for two entries that publish an object to one queue twice.
    """
    found = tuple(each_row(_allowed, rows))
    for one, other in combinations(found, 2):
        if one.overlaps(other):
            raise InvalidRequest(
                f"an object that is created in {other.source} would be sent to {one.queue} twice",
                field="onCreated",
            )
    return found


def message_of(body: str) -> Order | Created:
    """Return what the *body* of a message continues, or the object that was created.

    Raises InvalidRequest for anything else.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the message is not JSON: {error}") from error
    if isinstance(given, dict) and given.keys() == {"publication"}:
        return Order.parse(given["publication"])
    return created_object(given)


def _allowed(row: Mapping[str, Any]) -> Allowed:
    only(row, NAMES, "publication")
    tenants, on_created = row.get("tenants", []), row.get("onCreated", False)
    if not isinstance(tenants, list) or not all(isinstance(each, str) and each for each in tenants):
        raise InvalidRequest("tenants takes a list of texts", field="tenants")
    if "tenants" in row and not tenants:
        raise InvalidRequest("tenants is empty, so no tenant could publish", field="tenants")
    if not isinstance(on_created, bool):
        raise InvalidRequest("onCreated is true or false", field="onCreated")
    chunk, rate = row.get("chunk"), row.get("rate")
    return Allowed(text_in(row, "source"), text_in(row, "queue"), tuple(tenants), on_created, chunk, rate)
