"""Wrong in the form of the request, on whatever route: type, encoding, JSON, size, idempotency key."""

from __future__ import annotations

from tests.api.bad_inputs.table import ACK, ADD, BODIES, JOBS, JSON, Bad, as_json, everywhere, typed

FORMS = [
    *typed(7, "text", {"content-type": "text/plain"}, 415),
    *typed(7, "no type", {}, 415),
    *typed(7, "xml", {"content-type": "application/xml"}, 415),
    *typed(7, "form", {"content-type": "application/x-www-form-urlencoded"}, 415),
    *typed(7, "a parameter for a type", {"content-type": "text/plain; application/json"}, 415),
    *typed(7, "another charset", {"content-type": "application/json; charset=utf-16"}, 415),
    *(Bad(8, f"no body {path}", "POST", path) for path in (ADD, ACK, JOBS)),
    *(Bad(8, f"empty body {path}", "POST", path, b"") for path in (ADD, ACK, JOBS)),
    *everywhere(8, "a body of blanks", b"  "),
    *everywhere(9, "half an object", b"{"),
    *everywhere(9, "trailing comma", b'{"count":1,}'),
    *everywhere(9, "two documents", b"{}{}"),
    *everywhere(9, "something after", b"{} x"),
    *everywhere(10, "array", b"[]"),
    *everywhere(10, "array of an object", b"[{}]"),
    *everywhere(10, "string", b'"x"'),
    *everywhere(10, "number", b"1"),
    *everywhere(10, "null", b"null"),
    *everywhere(11, "not UTF-8", b'{"userKey":"\xff"}'),
    *everywhere(11, "UTF-16", '{"count":1}'.encode("utf-16")),
    *everywhere(11, "byte order mark", b"\xef\xbb\xbf{}"),
    *everywhere(13, "very deep", b"[" * 100_000),
    *everywhere(13, "very deep objects", b'{"a":' * 50_000),
    *everywhere(14, "name twice", b'{"count":1,"count":2}'),
    *everywhere(14, "name twice, escaped", b'{"count":1,"\\u0063ount":2}'),
    *everywhere(15, "NaN", b'{"count":NaN}'),
    *everywhere(15, "Infinity", b'{"count":Infinity}'),
    *everywhere(15, "-Infinity", b'{"count":-Infinity}'),
    *everywhere(15, "1e400", b'{"count":1e400}'),
    *everywhere(16, "5,000 digits", b'{"count":' + b"9" * 5000 + b"}"),
    *everywhere(17, "unknown field", b'{"extra":1}'),
    *everywhere(5, "tenant in the body", b'{"tenant":"x"}'),
    *everywhere(18, "300 KB", b'{"userKey":"' + b"x" * 300_000 + b'"}', expect=(413,)),
    *everywhere(18, "10 MB", b" " * 10_000_001, expect=(413,)),
    *(
        Bad(5, f"tenant in the query {p}", "POST", p, as_json(b), query={"tenant": "x"})
        for p, b in BODIES.items()
    ),
]
KEYS = [
    Bad(23, f"key {name} {path}", "POST", path, as_json(body), headers={**JSON, "idempotency-key": key})
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
