"""The answers of a route in the OpenAPI document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel

from fanin.api.problems import MEDIA_TYPE, Problem

RETRY_AFTER = {
    "Retry-After": {"description": "Seconds to wait before a retry.", "schema": {"type": "integer"}}
}


HEADERS = {
    503: RETRY_AFTER,
    429: {"Retry-After": RETRY_AFTER["Retry-After"] | {"required": False}},
}
"""The headers of a problem by its status. Time alone does not help against the quota of open batches."""


def answers(status: int, model: type[BaseModel], *problems: int) -> dict[int, Any]:
    """Return the answers of a route: *model* with *status*, a problem with each of *problems* and 500."""
    good = {"description": HTTPStatus(status).phrase, "content": {"application/json": {"model": model}}}
    return {status: good} | {code: _problem(code) for code in sorted({*problems, 500})}


def _problem(status: int) -> dict[str, Any]:
    answer = {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"model": Problem}}}
    return answer | {"headers": HEADERS[status]} if status in HEADERS else answer
