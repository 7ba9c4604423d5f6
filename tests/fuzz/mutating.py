"""Breaks valid requests at random: path, query, headers, JSON, bytes, base64. A seed repeats all of it."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

LONG = "x" * 10_000
STRANGE_TEXTS = (
    "",
    " ",
    ".",
    "..",
    "../..",
    "%2e%2e",
    "%00",
    "\x00",
    "\n",
    "a\r\nb",
    "\x1b[31m",
    "\u202e",
    "é",
    "🎈",
    "²",
    "٣",
    "\ufffd",
    "\ud800",
    "\udfff",
    "null",
    "NaN",
    "-1",
    "-0",
    "05",
    "1e1",
    "0x1",
    "9" * 30,
    "9" * 5000,
    "18446744073709551616",
    "#",
    ":",
    "*",
    "'; DROP TABLE x; --",
    ":old",
    '" OR attribute_exists(pk)',
    "${jndi:ldap://x}",
    "{{7*7}}",
    "<script>",
    "urn:uuid:00000000-0000-4000-8000-000000000001",
    "{00000000-0000-4000-8000-000000000001}",
    "00000000-0000-4000-8000-000000000001",
    "00000000000040008000000000000001",
    "2026-02-30T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-14:00",
    "AAAA",
    "A" * 32,
    LONG,
)
STRANGE_VALUES: tuple[Any, ...] = (
    *STRANGE_TEXTS,
    None,
    True,
    False,
    0,
    -1,
    1.5,
    64.0,
    2**31,
    2**36 + 1,
    2**53 + 1,
    2**63,
    -(2**63),
    10**18,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    [{}],
    {"": ""},
    {"__proto__": 1},
    ["x"] * 2000,
)
STRANGE_TYPES = (
    "text/plain",
    "application/xml",
    "application/json; charset=utf-16",
    "",
    "application/json;;",
    "*/*",
    "text/event-stream;q=²",
    "TEXT/event-stream,,;q=1;q=0",
)
NAMES = (
    *("extra", "tenant", "userKey", "limit", "cursor", "from", "to", "state", "all", "X-Amz-Date"),
    *("payload", ""),
)


@dataclass(frozen=True)
class Request:
    """A request of the API. *raw*: the body as bytes, in place of *body*. *garbled*: base64 that is none."""

    method: str
    path: str
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    garbled: str | None = None

    def content(self) -> bytes | None:
        """Return the body as it is sent."""
        if self.raw is not None:
            return self.raw
        return None if self.body is None else json.dumps(self.body).encode()

    def event(self) -> dict[str, Any]:
        """Return the fields of the body in the event of a handler."""
        if self.garbled is not None:
            return {"body": self.garbled, "isBase64Encoded": True}
        content = self.content()
        if content is None:
            return {"isBase64Encoded": False}
        return {"body": base64.b64encode(content).decode(), "isBase64Encoded": True}


Mutate = Callable[[Request, Random], Request]


def mutated(request: Request, chance: Random) -> Request:
    """Return *request* with one to three changes."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        request = chance.choice(MUTATORS)(request, chance)
    return request


def _path(request: Request, chance: Random) -> Request:
    parts = request.path.split("/")
    at = chance.randrange(1, len(parts))
    parts[at] = chance.choice((*STRANGE_TEXTS, _flipped(parts[at], chance)))
    return replace(request, path="/".join(parts))


def _flipped(text: str, chance: Random) -> str:
    """Return *text* with a character changed, dropped or doubled."""
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(("", "0", "é", "-", text[at : at + 1] * 2)) + text[at + 1 :]


def _query(request: Request, chance: Random) -> Request:
    name = chance.choice((*request.query, *NAMES))
    values = chance.choice(STRANGE_TEXTS), [chance.choice(STRANGE_TEXTS) for _ in range(2)]
    return replace(request, query={**request.query, name: chance.choice(values)})


def _node(request: Request, chance: Random) -> Request:
    """Replace, remove or add something anywhere in the JSON of the body."""
    body = copy.deepcopy(request.body) if isinstance(request.body, dict) else {}
    holders = [each for each in _walk(body) if isinstance(each, dict | list)]
    holder = chance.choice(holders)
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    act = chance.choice(("replace", "replace", "remove", "add"))
    if act == "add" or not keys:
        value = chance.choice(STRANGE_VALUES)
        if isinstance(holder, dict):
            holder[chance.choice((*NAMES, *STRANGE_TEXTS[:20]))] = value
        else:
            holder.append(value)
    elif act == "remove":
        del holder[chance.choice(keys)]  # type: ignore[arg-type]
    else:
        holder[chance.choice(keys)] = chance.choice(STRANGE_VALUES)  # type: ignore[index]
    return replace(request, body=body)


def _walk(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(each for part in inner for each in _walk(part))]


def _nested(request: Request, chance: Random) -> Request:
    """Nest deeply, as raw JSON, because ``json.dumps`` does not go as deep."""
    depth = chance.choice((10, 60, 200, 5_000, 100_000))
    name = chance.choice(list(request.body or {}) or ["payload"])
    opened, closed = chance.choice((("[", "]"), ('{"a":', "}")))
    inner = opened * depth + "1" + closed * chance.choice((0, depth))
    return replace(request, raw=f"{{{json.dumps(name)}:{inner}}}".encode())


def _twice(request: Request, chance: Random) -> Request:
    """Name a field twice."""
    fields = list((request.body or {}).items()) or [("count", 1)]
    twice = [*fields, chance.choice(fields)]
    return replace(
        request, raw=("{" + ",".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in twice) + "}").encode()
    )


def _bytes(request: Request, chance: Random) -> Request:
    """Break the bytes of the body: cut them, flip bits, encode them otherwise, or send others."""
    content = bytearray(request.content() or b"{}")
    kind = chance.randrange(5)
    if kind == 0:
        content = content[: chance.randrange(len(content) + 1)]
    elif kind == 1:
        for _ in range(chance.randrange(1, 5)):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif kind == 2:
        encoding = chance.choice(("utf-16", "utf-32", "utf-8-sig"))
        content = bytearray(content.decode("utf-8", "replace").encode(encoding))
    elif kind == 3:
        content = bytearray(chance.randbytes(chance.randrange(200)))
    else:
        content += chance.choice((b"{}", b" x", b"\x00", b"," * 100, b" " * 300_000))
    return replace(request, raw=bytes(content))


def _headers(request: Request, chance: Random) -> Request:
    name = chance.choice(
        ("content-type", "idempotency-key", "idempotency-key", "last-event-id", "host", "accept", "accept")
    )
    values = {"content-type": STRANGE_TYPES, "accept": STRANGE_TYPES}.get(name, STRANGE_TEXTS)
    return replace(request, headers={**request.headers, name: chance.choice(values)})


def _garbled(request: Request, chance: Random) -> Request:
    text = base64.b64encode(request.content() or b"{}").decode()
    return replace(
        request, garbled=chance.choice((text + "!", text[:-1], "====", "é", "\ud800", text + "\n"))
    )


def _method(request: Request, chance: Random) -> Request:
    return replace(request, method=chance.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "")))


MUTATORS: tuple[Mutate, ...] = (
    *(_node,) * 6,
    *(_path,) * 2,
    *(_query,) * 3,
    *(_bytes,) * 2,
    *(_headers,) * 2,
    _nested,
    _twice,
    _garbled,
    _method,
)
