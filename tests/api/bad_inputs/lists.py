"""Wrong in the query of a list."""

from __future__ import annotations

from tests.api.bad_inputs.table import LISTS, OPEN, UNKNOWN, querying

CHILDREN = "/v1/batches/<BATCH>/children"
_STRANGE_NUMBERS = (
    *("0", "-1", "+5", "05", " 5", "5 ", "5\n", "1_0", "1.0", "1e1", "0x1", "٣", "²", "", "null"),
    "9" * 5000,
)
_STRANGE_CURSORS = (
    *("", "x", "0", "AAAAAAA=", "AAAAAAA+", "AAAAAAA/", "AAAAAAA ", "AAAAAAA", "AAAAAAAAA", "AAAAAAAA\n"),
    *("A" * 16, "A" * 33, "_" * 32, "A" * 10_000, "<BATCH>", "é" * 8, "../../..", '{"pk":"x"}'),
)

QUERIES = [
    *(
        querying(29, path, f"limit {text!r:.20}", {"limit": text})
        for path in LISTS
        for text in _STRANGE_NUMBERS
    ),
    *(querying(28, path, "limit 1,001", {"limit": "1001"}) for path in LISTS),
    querying(28, OPEN, "limit 101", {"limit": "101"}),
    *(
        querying(36, path, f"cursor {text!r:.20}", {"cursor": text})
        for path in LISTS
        for text in _STRANGE_CURSORS
    ),
    querying(36, OPEN, "cursor of another list", {"cursor": "AAAAAAAA"}),
    *(querying(36, path, "cursor of another list", {"cursor": "A" * 32}) for path in LISTS[1:]),
    *(
        querying(14, path, f"{name} twice", {name: [value] * 2})
        for path in LISTS
        for name, value in (("limit", "5"),)
    ),
    *(querying(14, path, "cursor twice", {"cursor": ["AAAAAAAA"] * 2}) for path in LISTS),
    *(querying(5, path, "tenant", {"tenant": "x"}) for path in LISTS),
    *(querying(17, path, "another spelling", {"Limit": "5"}) for path in LISTS),
    *(querying(17, path, "userKey", {"userKey": "x"}) for path in LISTS[1:]),
    *(
        querying(20, OPEN, f"userKey {text!r:.20}", {"userKey": text})
        for text in ("", "x" * 257, "a\0b", "\x1b[31m")
    ),
    *(querying(17, path, "label", {"label": "a:b"}) for path in LISTS[1:]),
    *(
        querying(20, OPEN, f"label {text!r:.20}", {"label": text})
        for text in ("", "a", "team", "a:\0", "a:" + "x" * 400)
    ),
    *(
        querying(20, OPEN, f"userKeyPrefix {text!r:.20}", {"userKeyPrefix": text})
        for text in ("", "x" * 257, "a\0b", "\x1b[31m")
    ),
    querying(20, OPEN, "a key and its beginning", {"userKey": "a", "userKeyPrefix": "a"}),
    *(
        querying(29, OPEN, f"{name} {text!r:.24}", {name: text})
        for name in ("openedFrom", "openedTo")
        for text in ("", "x", "2026-03-01", "2026-03-01T00:00:00", "1772323200", "2026-13-01T00:00:00Z")
    ),
    querying(
        28,
        OPEN,
        "times the wrong way round",
        {"openedFrom": "2026-03-01T00:00:00Z", "openedTo": "2026-03-01T01:00:00+01:00"},
    ),
    querying(14, OPEN, "label twice", {"label": ["a:b", "c:d"]}),
    querying(14, OPEN, "userKey twice", {"userKey": ["a", "b"]}),
    *(
        querying(17, OPEN, f"state {text!r}", {"state": text})
        for text in ("", "open", "EXPIRED", "x", "OPEN,CLOSED")
    ),
    *(querying(17, CHILDREN, f"done {text!r}", {"done": text}) for text in ("", "maybe", "1.0", "true ")),
    querying(14, CHILDREN, "done twice", {"done": ["true", "true"]}),
    querying(17, "/v1/batches/<BATCH>", "limit", {"limit": "5"}),
]
_WINDOW = {"groupId": "<GROUP>", "from": "0", "to": "9"}
WINDOWS = [
    *(
        querying(29, path, f"{name} {text!r:.20}", {**_WINDOW, name: text})
        for path in LISTS[1:]
        for name in ("from", "to")
        for text in (*_STRANGE_NUMBERS[1:], "1e400")
    ),
    *(
        querying(36, path, f"groupId {text!r:.20}", {**_WINDOW, "groupId": text})
        for path in LISTS[1:]
        for text in ("", "x", "<GROUP>\n", "<GROUP>#", "A" * 10_000)
    ),
    *(
        querying(18, path, f"a window without {name}", {k: v for k, v in _WINDOW.items() if k != name})
        for path in LISTS[1:]
        for name in _WINDOW
    ),
    *(querying(17, path, "a window with limit", {**_WINDOW, "limit": "5"}) for path in LISTS[1:]),
    *(querying(17, path, "a window with cursor", {**_WINDOW, "cursor": "AAAAAAAA"}) for path in LISTS[1:]),
    *(querying(14, path, "from twice", {**_WINDOW, "from": ["0", "0"]}) for path in LISTS[1:]),
    *(
        querying(28, path, f"a window {name} {text}", {**_WINDOW, name: text})
        for path in LISTS[1:]
        for name, text in (("to", "10"), ("from", "10"), ("to", str(2**36 - 1)), ("to", str(2**36)))
    ),
    *(
        querying(31, path, f"a window of {name}", {**_WINDOW, "groupId": name}, expect=(404,))
        for path in LISTS[1:]
        for name in (UNKNOWN, "00000000-0000-8000-8000-000000000000", "<BATCH>")
    ),
    querying(17, OPEN, "a window", _WINDOW),
]
