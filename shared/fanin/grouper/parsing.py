"""Policies and batch APIs by target, read from the JSON of a deployment: exact names and types, or none."""

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
"""Seconds: a handler has to apply the outcome within the lease of its call, too."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A batch API over HTTP, for the targets that fit *pattern*. *timeout*: seconds."""

    pattern: str
    url: str
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidRequest(f"a batch API has an http(s) URL, not {self.url!r}", field="url")
        if not 0 < self.timeout <= TIMEOUT_MAX:
            raise InvalidRequest(f"a timeout is up to {TIMEOUT_MAX:.0f} seconds", field="timeoutSeconds")


def policies_of(text: str) -> Policies:
    """The policies in *text*: ``[{"pattern": "orders-*", "maxSize": 50, "rate": 2.5}, ...]``.

    The other names are ``lingerSeconds maxDelaySeconds shards burst isolation maxAttempts inPlace``; what is
    left out has its default. Raises InvalidRequest for anything else.
    """
    return Policies(tuple((_pattern(row), _policy(row)) for row in _rows(text)))


def endpoints_of(text: str) -> tuple[Endpoint, ...]:
    """The batch APIs in *text*: ``[{"pattern": "*", "url": "https://...", "timeoutSeconds": 10}, ...]``."""
    return tuple(_endpoint(row) for row in _rows(text))


def _rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("the settings of targets are not JSON") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidRequest("the settings of targets are a list of objects, one a pattern")
    return rows


def _pattern(row: Mapping[str, Any]) -> str:
    pattern = row.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise InvalidRequest("settings of targets name the pattern that they are for", field="pattern")
    return pattern


def _policy(row: Mapping[str, Any]) -> Policy:
    _only(row, {"pattern", *NAMES.values()})
    kinds = get_type_hints(Policy)
    given = {field: _value(name, kinds[field], row[name]) for field, name in NAMES.items() if name in row}
    # Whoever only says how long to linger does not ask for a bundle that goes sooner.
    if "linger" in given:
        given.setdefault("max_delay", max(given["linger"], Policy().max_delay))
    return Policy(**given)


def _endpoint(row: Mapping[str, Any]) -> Endpoint:
    _only(row, {"pattern", "url", "timeoutSeconds"})
    url, timeout = row.get("url"), row.get("timeoutSeconds", TIMEOUT)
    if not isinstance(url, str):
        raise InvalidRequest("a batch API has a URL", field="url")
    return Endpoint(_pattern(row), url, _number("timeoutSeconds", timeout))


def _only(row: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(row.keys() - known)
    if unknown:
        raise InvalidRequest(f"settings of targets have no {', '.join(unknown)}", field=unknown[0])


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
        raise InvalidRequest(f"{name} is {' or '.join(Isolation)}", field=name)
    return Isolation(value)


def _whole(name: str, value: Any) -> int:
    if type(value) is not int:
        raise InvalidRequest(f"{name} is a whole number", field=name)
    return value


def _number(name: str, value: Any) -> float:
    if type(value) not in (int, float) or not -1e6 < value < 1e6:
        raise InvalidRequest(f"{name} is a number", field=name)
    return float(value)
