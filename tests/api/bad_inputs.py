"""Requests that must be refused, as data: each over handlers or over HTTP, with what may be answered.

In paths and bodies ``<BATCH>`` stands for an open batch of the caller, ``<CLOSED>`` for a closed one,
``<FOREIGN>`` for another tenant's, ``<ITEM>`` for the first item of the open batch and ``<GROUP>`` for its
group. *row* is the row of the table of bad inputs in the design.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "00000000-0000-4000-8000-000000000000"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Bad:
    """One request and the statuses that are a right answer to it."""

    row: int
    name: str
    method: str
    path: str
    body: bytes | None = None
    expect: tuple[int, ...] = (400,)
    headers: dict[str, str] = field(default_factory=lambda: JSON)
    query: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.row}-{self.name}"


OPEN, ADD, CLOSE, ACK = "/v1/batches", "/v1/batches/<BATCH>/items", "/v1/batches/<BATCH>/close", "/v1/acks"
CANCEL, NOTIFY = "/v1/batches/<BATCH>/cancel", "/v1/batches/<CLOSED>/notify"
JOBS = "/v1/queues/thumbs/jobs"
BODIES: dict[str, Any] = {
    OPEN: {},
    ADD: {"count": 1},
    CLOSE: {},
    ACK: {"items": ["<ITEM>"]},
    CANCEL: {},
    NOTIFY: {},
    JOBS: {"jobs": [{"key": "a"}]},
}
OUTSTANDING, FAILURES = "/v1/batches/<BATCH>/outstanding", "/v1/batches/<BATCH>/failures"
LISTS = (OPEN, OUTSTANDING, FAILURES)


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


def _open(row: int, name: str, document: Any, **more: Any) -> Bad:
    return Bad(row, f"open-{name}", "POST", OPEN, _json(document), **more)


def _add(row: int, name: str, document: Any, **more: Any) -> Bad:
    return Bad(row, f"add-{name}", "POST", ADD, _json(document), **more)


def _ack(row: int, name: str, document: Any, **more: Any) -> Bad:
    return Bad(row, f"ack-{name}", "POST", ACK, _json(document), **more)


def _everywhere(row: int, name: str, body: bytes | None, **more: Any) -> list[Bad]:
    return [Bad(row, f"{name} {path}", "POST", path, body, **more) for path in BODIES]


def _typed(row: int, name: str, headers: dict[str, str], expect: int) -> list[Bad]:
    return [
        Bad(row, f"{name} {path}", "POST", path, _json(document), (expect,), headers)
        for path, document in BODIES.items()
    ]


FORMS = [
    *_typed(7, "text", {"content-type": "text/plain"}, 415),
    *_typed(7, "no type", {}, 415),
    *_typed(7, "xml", {"content-type": "application/xml"}, 415),
    *_typed(7, "form", {"content-type": "application/x-www-form-urlencoded"}, 415),
    *_typed(7, "a parameter for a type", {"content-type": "text/plain; application/json"}, 415),
    *_typed(7, "another charset", {"content-type": "application/json; charset=utf-16"}, 415),
    *_everywhere(8, "no body", None),
    *_everywhere(8, "empty body", b""),
    *_everywhere(9, "half an object", b"{"),
    *_everywhere(9, "trailing comma", b'{"count":1,}'),
    *_everywhere(9, "two documents", b"{}{}"),
    *_everywhere(9, "something after", b"{} x"),
    *_everywhere(10, "array", b"[]"),
    *_everywhere(10, "array of an object", b"[{}]"),
    *_everywhere(10, "string", b'"x"'),
    *_everywhere(10, "number", b"1"),
    *_everywhere(10, "null", b"null"),
    *_everywhere(11, "not UTF-8", b'{"userKey":"\xff"}'),
    *_everywhere(11, "UTF-16", '{"count":1}'.encode("utf-16")),
    *_everywhere(11, "byte order mark", b"\xef\xbb\xbf{}"),
    *_everywhere(13, "very deep", b"[" * 100_000),
    *_everywhere(13, "very deep objects", b'{"a":' * 50_000),
    *_everywhere(14, "name twice", b'{"count":1,"count":2}'),
    *_everywhere(14, "name twice, escaped", b'{"count":1,"\\u0063ount":2}'),
    *_everywhere(15, "NaN", b'{"count":NaN}'),
    *_everywhere(15, "Infinity", b'{"count":Infinity}'),
    *_everywhere(15, "-Infinity", b'{"count":-Infinity}'),
    *_everywhere(15, "1e400", b'{"count":1e400}'),
    *_everywhere(16, "5,000 digits", b'{"count":' + b"9" * 5000 + b"}"),
    *_everywhere(17, "unknown field", b'{"extra":1}'),
    *_everywhere(5, "tenant in the body", b'{"tenant":"x"}'),
    *_everywhere(18, "300 KB", b'{"userKey":"' + b"x" * 300_000 + b'"}', expect=(413,)),
    *_everywhere(18, "10 MB", b" " * 10_000_001, expect=(413,)),
    *(
        Bad(5, f"tenant in the query {p}", "POST", p, _json(b), query={"tenant": "x"})
        for p, b in BODIES.items()
    ),
]
USER_KEYS = [
    _open(20, "257 characters", {"userKey": "x" * 257}),
    _open(20, "empty", {"userKey": ""}),
    _open(20, "1 MB", {"userKey": "x" * 2**20}, expect=(413,)),
    _open(20, "NUL", {"userKey": "a\0b"}),
    _open(20, "lone surrogate", {"userKey": "a\ud800"}),
    _open(20, "C1 control", {"userKey": "a\x85"}),
    _open(62, "a forged log line", {"userKey": '\r\n{"level":"ERROR"}'}),
    _open(62, "terminal codes", {"userKey": "\x1b[31m"}),
    _open(21, "number", {"userKey": 7}),
    _open(21, "object", {"userKey": {}}),
    _open(21, "list", {"userKey": ["x"]}),
    _open(21, "true", {"userKey": True}),
    _open(17, "another spelling", {"user_key": "x"}),
    _open(17, "a surrogate for a name", {"\ud800": 1}),
]
SETTINGS = [
    *(
        _open(22, f"retention {value!r}", {"retentionSeconds": {"open": value}})
        for value in (0, -1, 59, 10**12, "7d", "60", 60.0, True)
    ),
    _open(22, "retention a number", {"retentionSeconds": 60}),
    _open(22, "retention null", {"retentionSeconds": None}),
    _open(22, "retention unknown stage", {"retentionSeconds": {"later": 60}}),
    _open(22, "mode unknown", {"mode": "fast"}),
    _open(22, "mode a number", {"mode": 1}),
    _open(22, "mode null", {"mode": None}),
    *(
        _open(22, f"{name} {value!r}", {name: value})
        for name, least in (("expectedItems", 0), ("deadlineSeconds", 1), ("maxFailures", 1))
        for value in (least - 1, -1, 1.5, 7.0, "7", True, [7], {"n": 7}, 2**40 + 1, 2**63, 10**4000)
    ),
    _open(22, "deadlineSeconds of more than 400 days", {"deadlineSeconds": 400 * 24 * 3600 + 1}),
    *(
        _open(50, f"parentItemId {value!r}", {"parentItemId": value})
        for value in (
            "",
            "x",
            7,
            ["<ITEM>"],
            "<BATCH>",
            "<ITEM>:evil",
            "<BATCH>:<GROUP>:-1",
            "urn:uuid:<ITEM>",
        )
    ),
    _open(53, "a parent beyond its group", {"parentItemId": "<BATCH>:<GROUP>:10"}),
    _open(53, "a parent that nobody handed out", {"parentItemId": f"<BATCH>:{UNKNOWN}:0"}),
    _open(4, "a parent of another's", {"parentItemId": "<FOREIGN>:<GROUP>:0"}),
]
_REASONS = ("", "x" * 513, "a\0b", "a\nb", "\x1b[31m", '\r\n{"level":"ERROR"}', "a\ud800", 7, True, [], {})
REASONS = [
    *(
        Bad(20, f"cancel-reason {value!r:.40}", "POST", CANCEL, _json({"reason": value}))
        for value in _REASONS
    ),
    *(
        _ack(
            20,
            f"reason {value!r:.40}",
            {"acks": [{"itemId": "<ITEM>", "outcome": "failure", "reason": value}]},
        )
        for value in _REASONS
    ),
    _ack(17, "a reason for success", {"acks": [{"itemId": "<ITEM>", "reason": "x"}]}),
    _ack(17, "a reason for plain items", {"items": ["<ITEM>"], "reason": "x"}),
]


def _query(row: int, path: str, name: str, query: dict[str, Any], **more: Any) -> Bad:
    return Bad(row, f"{name} {path}", "GET", path, query=query, **more)


_STRANGE_NUMBERS = (
    "0",
    "-1",
    "+5",
    "05",
    " 5",
    "5 ",
    "5\n",
    "1_0",
    "1.0",
    "1e1",
    "0x1",
    "٣",
    "²",
    "",
    "null",
    "9" * 5000,
)
_STRANGE_CURSORS = (
    "",
    "x",
    "0",
    "AAAAAAA=",
    "AAAAAAA+",
    "AAAAAAA/",
    "AAAAAAA ",
    "AAAAAAA",
    "AAAAAAAAA",
    "AAAAAAAA\n",
    "A" * 16,
    "A" * 33,
    "________________________________",
    "A" * 10_000,
    "<BATCH>",
    "é" * 8,
    "../../..",
    '{"pk":"x"}',
)
QUERIES = [
    *(
        _query(29, path, f"limit {text!r:.20}", {"limit": text})
        for path in LISTS
        for text in _STRANGE_NUMBERS
    ),
    *(_query(28, path, "limit 1,001", {"limit": "1001"}) for path in LISTS),
    _query(28, OPEN, "limit 101", {"limit": "101"}),
    *(
        _query(36, path, f"cursor {text!r:.20}", {"cursor": text})
        for path in LISTS
        for text in _STRANGE_CURSORS
    ),
    _query(36, OPEN, "cursor of another list", {"cursor": "AAAAAAAA"}),
    *(_query(36, path, "cursor of another list", {"cursor": "A" * 32}) for path in LISTS[1:]),
    *(
        _query(14, path, f"{name} twice", {name: [value] * 2})
        for path in LISTS
        for name, value in (("limit", "5"),)
    ),
    *(_query(14, path, "cursor twice", {"cursor": ["AAAAAAAA"] * 2}) for path in LISTS),
    *(_query(5, path, "tenant", {"tenant": "x"}) for path in LISTS),
    *(_query(17, path, "another spelling", {"Limit": "5"}) for path in LISTS),
    *(_query(17, path, "userKey", {"userKey": "x"}) for path in LISTS[1:]),
    *(
        _query(20, OPEN, f"userKey {text!r:.20}", {"userKey": text})
        for text in ("", "x" * 257, "a\0b", "\x1b[31m")
    ),
    _query(14, OPEN, "userKey twice", {"userKey": ["a", "b"]}),
    *(
        _query(17, OPEN, f"state {text!r}", {"state": text})
        for text in ("", "open", "EXPIRED", "x", "OPEN,CLOSED")
    ),
    _query(17, "/v1/batches/<BATCH>", "limit", {"limit": "5"}),
]
KEYS = [
    Bad(23, f"key {name} {path}", "POST", path, _json(body), headers={**JSON, "idempotency-key": key})
    for path, body in BODIES.items()
    for name, key in (
        ("empty", ""),
        ("300 characters", "x" * 300),
        ("129 characters", "x" * 129),
        ("newline", "a\nb"),
        ("newline at the end", "a\n"),
        ("not ASCII", "é"),
        ("tab", "a\tb"),
    )
]
COUNTS = [
    *(
        _add(26 if value == 0 else 29, f"count {value!r}", {"count": value})
        for value in (0, 1.5, 64.0, "64", True, False, None, [64], {"n": 64})
    ),
    *(_add(27, f"count {value}", {"count": value}) for value in (-1, -(2**63))),
    *(_add(28, f"count {value}", {"count": value}) for value in (2**36 + 1, 2**63, 10**18, 10**4000)),
    Bad(29, "add-count -0", "POST", ADD, b'{"count":-0}'),
    Bad(29, "add-count 1e2", "POST", ADD, b'{"count":1e2}'),
    _add(29, "no count", {}),
]
WHERE = [
    Bad(31, "add to no batch", "POST", f"/v1/batches/{UNKNOWN}/items", _json({"count": 1}), (404,)),
    Bad(32, "add to a closed batch", "POST", "/v1/batches/<CLOSED>/items", _json({"count": 1}), (409,)),
    Bad(42, "close no batch", "POST", f"/v1/batches/{UNKNOWN}/close", b"{}", (404,)),
    Bad(31, "get no batch", "GET", f"/v1/batches/{UNKNOWN}", None, (404,)),
    Bad(3, "get another's batch", "GET", "/v1/batches/<FOREIGN>", None, (404,)),
    Bad(3, "add to another's batch", "POST", "/v1/batches/<FOREIGN>/items", _json({"count": 1}), (404,)),
    Bad(42, "close another's batch", "POST", "/v1/batches/<FOREIGN>/close", b"{}", (404,)),
    *(
        Bad(row, f"{action} {name}", method, f"/v1/batches/{batch}/{action}", body, (404,))
        for row, name, batch in ((31, "no batch", UNKNOWN), (3, "another's batch", "<FOREIGN>"))
        for method, action, body in (
            ("POST", "cancel", b"{}"),
            ("POST", "notify", b"{}"),
            ("GET", "outstanding", None),
            ("GET", "failures", None),
        )
    ),
    Bad(32, "notify before the end", "POST", "/v1/batches/<BATCH>/notify", b"{}", (409,)),
    Bad(6, "unknown route", "POST", "/v1/nothing", b"{}", (404,)),
    Bad(6, "wrong method", "PUT", "/v1/batches", b"{}", (404, 405)),
]
_STRANGE_IDS = {
    35: ("..", "%2e%2e", ".", "-"),
    36: ("a#b", "a:b", "*", "a\0b", "a b", "<BATCH>#", "<BATCH>\n"),
    37: ("a" * 10_000,),
    40: (
        "urn:uuid:<BATCH>",
        "{<BATCH>}",
        "00000000000040008000000000000000",
        "0000-000000004000-8000-0000-00000000",
        "00000000-0000-4000-8000-00000000000A",
        "00000000-0000-4000-8000-00000000000²",
        "0x000000-0000-4000-8000-000000000000",
    ),
    41: ("'; DROP TABLE", '" OR attribute_exists(pk)', ":old", "${jndi:ldap}", "{{7*7}}"),
}
IDS = [
    bad
    for row, texts in _STRANGE_IDS.items()
    for text in texts
    for bad in (
        Bad(row, f"get {text[:40]!r}", "GET", f"/v1/batches/{text}", None, (400, 404)),
        Bad(row, f"add to {text[:40]!r}", "POST", f"/v1/batches/{text}/items", b'{"count":1}', (400, 404)),
        Bad(row, f"close {text[:40]!r}", "POST", f"/v1/batches/{text}/close", b"{}", (400, 404)),
        Bad(row, f"cancel {text[:40]!r}", "POST", f"/v1/batches/{text}/cancel", b"{}", (400, 404)),
        Bad(row, f"notify {text[:40]!r}", "POST", f"/v1/batches/{text}/notify", b"{}", (400, 404)),
        Bad(row, f"outstanding {text[:40]!r}", "GET", f"/v1/batches/{text}/outstanding", None, (400, 404)),
        Bad(row, f"failures {text[:40]!r}", "GET", f"/v1/batches/{text}/failures", None, (400, 404)),
    )
]
_STRANGE_ITEMS = {
    50: ("<BATCH>:<GROUP>", "<ITEM>:evil", "<BATCH>::0", ":<GROUP>:0", "<BATCH>:<GROUP>:", "::", ""),
    51: tuple(
        f"<BATCH>:<GROUP>:{index}"
        for index in ("-1", "-0", "+5", "05", "1e1", "0x1", " 5", "5 ", "5\n", "²", "٣", "1.0", "1_0")
    ),
    52: (f"<BATCH>:<GROUP>:{2**64}", "<BATCH>:<GROUP>:" + "9" * 5000),
    40: ("urn:uuid:<ITEM>", "{<BATCH>}:<GROUP>:0", "<BATCH>:{<GROUP>}:0"),
    41: ("'; DROP TABLE", ":old", "${jndi:ldap}", "{{7*7}}"),
}
ITEMS = [
    *(
        _ack(row, f"item {text[:60]!r}", {"items": [text]})
        for row, texts in _STRANGE_ITEMS.items()
        for text in texts
    ),
    *(
        _ack(55, f"good and {text[:20]!r}", {"items": ["<ITEM>", text]})
        for text in ("x", "", "<BATCH>:<GROUP>:-1")
    ),
    _ack(46, "no items", {"items": []}),
    _ack(47, "nothing", {}),
    _ack(47, "items a string", {"items": "<ITEM>"}),
    _ack(47, "items an object", {"items": {"0": "<ITEM>"}}),
    _ack(47, "items null", {"items": None}),
    _ack(47, "items of numbers", {"items": [1]}),
    _ack(47, "items of lists", {"items": [["<ITEM>"]]}),
    _ack(48, "1,001 items", {"items": ["<ITEM>"] * 1001}),
    _ack(48, "1,001 acks", {"acks": [{"itemId": "<ITEM>"}] * 1001}),
    _ack(48, "100,000 items", {"items": ["<ITEM>"] * 100_000}, expect=(413,)),
]
_RANGE = {"batchId": "<BATCH>", "groupId": "<GROUP>", "from": 0, "to": 1}
RANGES = [
    _ack(46, "no acks", {"acks": []}),
    _ack(47, "items and acks", {"items": ["<ITEM>"], "acks": [{"itemId": "<ITEM>"}]}),
    _ack(47, "an empty ack", {"acks": [{}]}),
    _ack(47, "an item and a range", {"acks": [{"itemId": "<ITEM>", **_RANGE}]}),
    *(
        _ack(47, f"range without {name}", {"acks": [{k: v for k, v in _RANGE.items() if k != name}]})
        for name in _RANGE
    ),
    _ack(51, "range backwards", {"acks": [{**_RANGE, "from": 2}]}),
    *(
        _ack(51, f"range to {end!r}", {"acks": [{**_RANGE, "to": end}]})
        for end in (-1, "1", 1.0, True, 2**36)
    ),
    _ack(48, "a range of 2^30", {"acks": [{**_RANGE, "to": 2**30}]}),
    _ack(48, "ranges of 100,001", {"acks": [{**_RANGE, "to": 99_999}, {"itemId": "<ITEM>"}]}),
    _ack(40, "range of a strange batch", {"acks": [{**_RANGE, "batchId": "{<BATCH>}"}]}),
    _ack(40, "range of a strange group", {"acks": [{**_RANGE, "groupId": "x"}]}),
    _ack(17, "unknown outcome", {"acks": [{"itemId": "<ITEM>", "outcome": "maybe"}]}),
    _ack(17, "unknown field of an ack", {"acks": [{"itemId": "<ITEM>", "extra": 1}]}),
    _ack(55, "good and bad acks", {"acks": [{"itemId": "<ITEM>"}, {**_RANGE, "from": 2}]}),
]

ALL = [
    *FORMS,
    *USER_KEYS,
    *SETTINGS,
    *REASONS,
    *QUERIES,
    *KEYS,
    *COUNTS,
    *WHERE,
    *IDS,
    *ITEMS,
    *RANGES,
]
