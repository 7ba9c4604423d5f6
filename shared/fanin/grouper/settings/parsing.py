"""Parses the policies and batch APIs of targets from a deployment's JSON; unknown names are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar, get_type_hints

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import REFRESH_SECONDS, TIMEOUT, Endpoint, Secret, Signing
from fanin.grouper.settings.policy import Isolation, Policies, Policy

T = TypeVar("T")
Rows = Sequence[Mapping[str, Any]]
"""An object for each pattern of targets; the settings file has them."""
OF_SECRET = frozenset({"secret", "secretKey", "secretSeconds"})
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
    "lease": "leaseSeconds",
    "call_lease": "callLeaseSeconds",
    "call_timeout": "callTimeoutSeconds",
}


def policies_of(rows: Rows) -> Policies:
    """Return the policies in *rows*: ``[{"pattern": "orders-*", "maxSize": 50, "rate": 2.5}, ...]``.

    The other names are ``lingerSeconds maxDelaySeconds shards burst isolation maxAttempts inPlace`` and
    ``leaseSeconds callLeaseSeconds callTimeoutSeconds``; a name that is left out has its default. Raises
    InvalidRequest for anything else.
    """
    return Policies(tuple(each_row(lambda row: (_pattern(row), _policy(row)), rows)))


def endpoints_of(rows: Rows) -> tuple[Endpoint, ...]:
    """Return the batch APIs in *rows*.

    Their form is ``[{"pattern": "*", "url": "https://...", "timeoutSeconds": 10}, ...]``, or ``"function"``,
    an ARN, in place of the url. Beside a url there may be ``"secret"`` with ``"secretKey"`` and
    ``"secretSeconds"``, and ``"signing": {"service", "region", "actions": [...], "resource"}``. Raises
    InvalidRequest for anything else.
    """
    return tuple(each_row(_endpoint, rows))


def each_row(parse: Callable[[Mapping[str, Any]], T], rows: Rows) -> Iterator[T]:
    """Yield each row parsed; an error names the row by its number, from 1."""
    for number, row in enumerate(rows, start=1):
        try:
            yield parse(row)
        except InvalidRequest as error:
            raise InvalidRequest(f"entry {number}: {error}", field=error.field) from error


def _pattern(row: Mapping[str, Any]) -> str:
    pattern = row.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise InvalidRequest(
            "each entry needs a pattern of target names, a text that is not empty", field="pattern"
        )
    return pattern


def _policy(row: Mapping[str, Any]) -> Policy:
    only(row, {"pattern", *NAMES.values()})
    kinds = get_type_hints(Policy)
    given = {field: _value(name, kinds[field], row[name]) for field, name in NAMES.items() if name in row}
    # A linger that is longer than the default max_delay raises max_delay, which must not be less.
    if "linger" in given:
        given.setdefault("max_delay", max(given["linger"], Policy().max_delay))
    return Policy(**given)


def _endpoint(row: Mapping[str, Any]) -> Endpoint:
    only(row, {"pattern", "url", "function", "timeoutSeconds", *OF_SECRET, "signing"})
    if ("url" in row) == ("function" in row):
        raise InvalidRequest("each batch API needs either a url or a function", field="url")
    return Endpoint(
        pattern=_pattern(row),
        url=text_in(row, "url"),
        timeout=number_in("timeoutSeconds", row.get("timeoutSeconds", TIMEOUT)),
        function=text_in(row, "function"),
        secret=secret_in(row),
        signing=_signing(row["signing"]) if "signing" in row else None,
    )


def secret_in(row: Mapping[str, Any]) -> Secret | None:
    """Return the secret of *row*, None if it has none. Raises InvalidRequest."""
    if "secret" in row:
        refresh = number_in("secretSeconds", row.get("secretSeconds", REFRESH_SECONDS))
        return Secret(text_in(row, "secret"), text_in(row, "secretKey"), refresh)
    if row.keys() & OF_SECRET:
        raise InvalidRequest("secretKey and secretSeconds need a secret", field="secret")
    return None


def _signing(row: Any) -> Signing:
    if not isinstance(row, Mapping):
        raise InvalidRequest("signing takes an object: service, region, actions, resource", field="signing")
    only(row, {"service", "region", "actions", "resource"})
    actions = row.get("actions")
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        raise InvalidRequest("actions takes a list of IAM actions", field="actions")
    service, region, resource = (text_in(row, name) for name in ("service", "region", "resource"))
    return Signing(service, region, tuple(actions), resource)


def text_in(row: Mapping[str, Any], name: str) -> str:
    """Return the text *name* of *row*, empty if it is left out. Raises InvalidRequest."""
    text = row.get(name, "")
    if not isinstance(text, str):
        raise InvalidRequest(f"{name} must be a text", field=name)
    return text


def only(row: Mapping[str, Any], known: set[str], kind: str = "target") -> None:
    """Raise InvalidRequest if *row*, the settings of that *kind*, has other names than the *known* ones."""
    unknown = sorted(row.keys() - known)
    if unknown:
        raise InvalidRequest(f"unknown setting of a {kind}: {', '.join(unknown)}", field=unknown[0])


def _value(name: str, kind: Any, value: Any) -> Any:
    if kind in (timedelta, timedelta | None):
        return timedelta(seconds=number_in(name, value))
    if kind is Isolation:
        return _isolation(name, value)
    if kind is int:
        return _whole(name, value)
    return None if value is None else number_in(name, value)


def _isolation(name: str, value: Any) -> Isolation:
    if value not in list(Isolation):
        raise InvalidRequest(f"{name} must be {' or '.join(Isolation)}", field=name)
    return Isolation(value)


def _whole(name: str, value: Any) -> int:
    if type(value) is not int:
        raise InvalidRequest(f"{name} must be a whole number", field=name)
    return value


def number_in(name: str, value: Any) -> float:
    """Return the number *value* of the setting *name*. Raises InvalidRequest."""
    if type(value) not in (int, float) or not -1e6 < value < 1e6:
        raise InvalidRequest(f"{name} must be a number", field=name)
    return float(value)
