"""Parses the policies and batch APIs of targets from a deployment's JSON; unknown names are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from fanin.errors import InvalidRequest
from fanin.grouper.policy import Isolation, Policies, Policy

NAMES = {
    "linger": "lingerSeconds",
    "max_delay": "maxDelaySeconds",
    "max_size": "maxSize",
    "shards": "shards",
    "rate": "rate",
    "burst": "burst",
    "isolation": "isolation",
    "max_attempts": "maxAttempts",
    "in_place": "inPlace",
}
TIMEOUT, TIMEOUT_MAX = 10.0, 30.0
"""Seconds. The call and its outcome have to fit into the lease of a call."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A batch API over HTTP for the targets that match *pattern*. *timeout*: seconds."""

    pattern: str
    url: str
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidRequest(
                f"the url of a batch API must be an http(s) URL, not {self.url!r}", field="url"
            )
        if not 0 < self.timeout <= TIMEOUT_MAX:
            raise InvalidRequest(
                f"timeoutSeconds must be more than 0 and at most {TIMEOUT_MAX:.0f}", field="timeoutSeconds"
            )


def policies_of(text: str) -> Policies:
    """Return the policies in *text*: ``[{"pattern": "orders-*", "maxSize": 50, "rate": 2.5}, ...]``.

    The other names are ``lingerSeconds maxDelaySeconds shards burst isolation maxAttempts inPlace``; a name
    that is left out has its default. Raises InvalidRequest for anything else.
    """
    return Policies(tuple((_pattern(row), _policy(row)) for row in _rows(text)))


def endpoints_of(text: str) -> tuple[Endpoint, ...]:
    """Return the batch APIs in *text*.

    Its form is ``[{"pattern": "*", "url": "https://...", "timeoutSeconds": 10}, ...]``. Raises InvalidRequest
    for anything else.
    """
    return tuple(_endpoint(row) for row in _rows(text))


def _rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("grouper_policies and grouper_downstream must be JSON") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidRequest(
            "grouper_policies and grouper_downstream must be lists of objects, one for each pattern"
        )
    return rows


def _pattern(row: Mapping[str, Any]) -> str:
    pattern = row.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise InvalidRequest(
            "each entry needs a pattern of target names, a text that is not empty", field="pattern"
        )
    return pattern


def _policy(row: Mapping[str, Any]) -> Policy:
    _only(row, {"pattern", *NAMES.values()})
    kinds = get_type_hints(Policy)
    given = {field: _value(name, kinds[field], row[name]) for field, name in NAMES.items() if name in row}
    # A linger that is longer than the default max_delay raises max_delay, which must not be less.
    if "linger" in given:
        given.setdefault("max_delay", max(given["linger"], Policy().max_delay))
    return Policy(**given)


def _endpoint(row: Mapping[str, Any]) -> Endpoint:
    _only(row, {"pattern", "url", "timeoutSeconds"})
    url, timeout = row.get("url"), row.get("timeoutSeconds", TIMEOUT)
    if not isinstance(url, str):
        raise InvalidRequest("each batch API needs a url, a text", field="url")
    return Endpoint(_pattern(row), url, _number("timeoutSeconds", timeout))


def _only(row: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(row.keys() - known)
    if unknown:
        raise InvalidRequest(f"unknown setting of a target: {', '.join(unknown)}", field=unknown[0])


def _value(name: str, kind: Any, value: Any) -> Any:
    if kind is timedelta:
        return timedelta(seconds=_number(name, value))
    if kind is Isolation:
        return _isolation(name, value)
    if kind is int:
        return _whole(name, value)
    return None if value is None else _number(name, value)


def _isolation(name: str, value: Any) -> Isolation:
    if value not in list(Isolation):
        raise InvalidRequest(f"{name} must be {' or '.join(Isolation)}", field=name)
    return Isolation(value)


def _whole(name: str, value: Any) -> int:
    if type(value) is not int:
        raise InvalidRequest(f"{name} must be a whole number", field=name)
    return value


def _number(name: str, value: Any) -> float:
    if type(value) not in (int, float) or not -1e6 < value < 1e6:
        raise InvalidRequest(f"{name} must be a number", field=name)
    return float(value)
