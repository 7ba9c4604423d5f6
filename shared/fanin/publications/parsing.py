"""Parses the sources and queues of a deployment from its JSON; unknown names are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.errors import InvalidRequest
from fanin.grouper.settings.parsing import Rows, each_row, only, text_in
from fanin.publications.model import Allowed


def publications_of(rows: Rows) -> tuple[Allowed, ...]:
    """Return what *rows* allow: ``[{"source": "s3://lake/in/", "queue": ARN}, ...]``.

    Each may have a list of ``"tenants"``. Raises InvalidRequest for anything else.
    """
    return tuple(each_row(_allowed, rows))


def _allowed(row: Mapping[str, Any]) -> Allowed:
    only(row, {"source", "queue", "tenants"}, "publication")
    tenants = row.get("tenants", [])
    if not isinstance(tenants, list) or not all(isinstance(each, str) and each for each in tenants):
        raise InvalidRequest("tenants takes a list of texts", field="tenants")
    return Allowed(text_in(row, "source"), text_in(row, "queue"), tuple(tenants))
