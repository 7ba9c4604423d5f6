"""Parses the callbacks of a deployment from its JSON; unknown names are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.callbacks.model import TIMEOUT, Callback
from fanin.errors import InvalidRequest
from fanin.grouper.settings.parsing import Rows, each_row, number_in, only, secret_in, text_in

KINDS = ("queue", "topic", "url")
OF_URL = {"secret", "secretKey", "secretSeconds", "timeoutSeconds"}


def callbacks_of(rows: Rows) -> tuple[Callback, ...]:
    """Return the callbacks in *rows*.

    Their form is ``[{"name": "orders", "queue": ARN}, ...]``, or ``"topic"``, or ``"url"`` with ``"secret"``
    and, if needed, ``"secretKey"``, ``"secretSeconds"`` and ``"timeoutSeconds"``. Each may have a list of
    ``"tenants"``. Raises InvalidRequest for anything else, for a name that is there twice, and for ARNs of
    several accounts or regions, of which EventBridge reaches one only.
    """
    found = tuple(each_row(_callback, rows))
    names = [each.name for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidRequest(f"two callbacks have the name {twice[0]}", field="name")
    places = sorted({":".join(each.arn.split(":")[3:5]) for each in found if each.arn})
    if len(places) > 1:
        raise InvalidRequest(
            f"the queues and topics are in {' and '.join(places)}: EventBridge reaches those in the region "
            "and account of the stack; subscribe the others to a topic there",
            field="queue",
        )
    return found


def _callback(row: Mapping[str, Any]) -> Callback:
    kinds = [kind for kind in KINDS if kind in row]
    if len(kinds) != 1 or not text_in(row, kinds[0]):
        raise InvalidRequest("each callback has a queue, a topic or a url", field="queue")
    only(row, {"name", "tenants", kinds[0]} | (OF_URL if kinds == ["url"] else set()), "callback")
    return Callback(
        name=text_in(row, "name"),
        tenants=_tenants(row),
        queue=text_in(row, "queue"),
        topic=text_in(row, "topic"),
        url=text_in(row, "url"),
        secret=secret_in(row),
        timeout=number_in("timeoutSeconds", row.get("timeoutSeconds", TIMEOUT)),
    )


def _tenants(row: Mapping[str, Any]) -> tuple[str, ...]:
    tenants = row.get("tenants", [])
    if not isinstance(tenants, list) or not all(isinstance(each, str) for each in tenants):
        raise InvalidRequest("tenants takes a list of texts", field="tenants")
    if "tenants" in row and not tenants:
        raise InvalidRequest("tenants is empty, so no batch could name this callback", field="tenants")
    return tuple(tenants)
