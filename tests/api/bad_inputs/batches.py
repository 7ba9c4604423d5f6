"""Wrong in what is said of a batch: its settings, its id, how many items it grows by."""

from __future__ import annotations

from tests.api.bad_inputs.table import ADD, UNKNOWN, Bad, adding, as_json, opening

USER_KEYS = [
    opening(20, "257 characters", {"userKey": "x" * 257}),
    opening(20, "empty", {"userKey": ""}),
    opening(20, "1 MB", {"userKey": "x" * 2**20}, expect=(413,)),
    opening(20, "NUL", {"userKey": "a\0b"}),
    opening(20, "lone surrogate", {"userKey": "a\ud800"}),
    opening(20, "C1 control", {"userKey": "a\x85"}),
    opening(62, "a forged log line", {"userKey": '\r\n{"level":"ERROR"}'}),
    opening(62, "terminal codes", {"userKey": "\x1b[31m"}),
    opening(21, "number", {"userKey": 7}),
    opening(21, "object", {"userKey": {}}),
    opening(21, "list", {"userKey": ["x"]}),
    opening(21, "true", {"userKey": True}),
    opening(17, "another spelling", {"user_key": "x"}),
    opening(17, "a surrogate for a name", {"\ud800": 1}),
]
SETTINGS = [
    *(
        opening(22, f"retention {value!r}", {"retentionSeconds": {"open": value}})
        for value in (0, -1, 59, 10**12, "7d", "60", 60.0, True)
    ),
    opening(22, "retention a number", {"retentionSeconds": 60}),
    opening(22, "retention null", {"retentionSeconds": None}),
    opening(22, "retention unknown stage", {"retentionSeconds": {"later": 60}}),
    opening(22, "mode unknown", {"mode": "fast"}),
    opening(22, "mode a number", {"mode": 1}),
    opening(22, "mode null", {"mode": None}),
    *(
        opening(22, f"{name} {value!r}", {name: value})
        for name, least in (("expectedItems", 0), ("deadlineSeconds", 1), ("maxFailures", 1))
        for value in (least - 1, -1, 1.5, 7.0, "7", True, [7], {"n": 7}, 2**40 + 1, 2**63, 10**4000)
    ),
    *(
        opening(22, f"maxFailurePercent {value!r}", {"maxFailurePercent": value})
        for value in (0, 101, -1, 1.5, 7.0, "7", True, [7])
    ),
    *(
        opening(22, f"taskToken {value!r:.30}", {"taskToken": value, "deadlineSeconds": 60})
        for value in ("", "x" * 2049, "a b", "a\n", "a\0b", "ä", "a\ud800", 7, True, ["x"], {"x": 1})
    ),
    *(
        opening(22, f"onFailures {value!r}", {"taskToken": "x", "deadlineSeconds": 60, "onFailures": value})
        for value in ("", "FAIL", "ignore", True, None, 1)
    ),
    *(
        opening(22, f"durableCallbackId {value!r:.30}", {"durableCallbackId": value, "deadlineSeconds": 60})
        for value in ("", "x" * 1025, "x===", "a-b", "a\n", "ä", 7, True, ["x"])
    ),
    opening(22, "taskToken without a deadline", {"taskToken": "x"}),
    opening(22, "onFailures without a token", {"onFailures": "fail", "deadlineSeconds": 60}),
    opening(22, "deadlineSeconds of more than 400 days", {"deadlineSeconds": 400 * 24 * 3600 + 1}),
    *(
        opening(50, f"parentItemId {value!r}", {"parentItemId": value})
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
    *(
        opening(22, f"labels {value!r:.30}", {"labels": value})
        for value in (
            None,
            "team:a",
            ["team"],
            {"": "x"},
            {"a:b": "x"},
            {"a": 1},
            {"a": None},
            {"a": {"b": "c"}},
            {"a\0": "x"},
            {"a": "x\x85"},
            {"a": "x\ud800"},
            {"a\ud800": "x"},
            {"a" * 65: "x"},
            {"a": "x" * 257},
            {str(number): "x" for number in range(11)},
        )
    ),
    opening(53, "a parent beyond its group", {"parentItemId": "<BATCH>:<GROUP>:10"}),
    opening(53, "a parent that was not handed out", {"parentItemId": f"<BATCH>:{UNKNOWN}:0"}),
    opening(4, "a parent of another's", {"parentItemId": "<FOREIGN>:<GROUP>:0"}),
]
COUNTS = [
    *(
        adding(26 if value == 0 else 29, f"count {value!r}", {"count": value})
        for value in (0, 1.5, 64.0, "64", True, False, None, [64], {"n": 64})
    ),
    *(adding(27, f"count {value}", {"count": value}) for value in (-1, -(2**63))),
    *(adding(28, f"count {value}", {"count": value}) for value in (2**36 + 1, 2**63, 10**18, 10**4000)),
    Bad(29, "add-count -0", "POST", ADD, b'{"count":-0}'),
    Bad(29, "add-count 1e2", "POST", ADD, b'{"count":1e2}'),
    adding(29, "no count", {}),
]
WHERE = [
    Bad(31, "add to no batch", "POST", f"/v1/batches/{UNKNOWN}/items", as_json({"count": 1}), (404,)),
    Bad(32, "add to a closed batch", "POST", "/v1/batches/<CLOSED>/items", as_json({"count": 1}), (409,)),
    Bad(42, "close no batch", "POST", f"/v1/batches/{UNKNOWN}/close", b"{}", (404,)),
    Bad(31, "get no batch", "GET", f"/v1/batches/{UNKNOWN}", None, (404,)),
    Bad(3, "get another's batch", "GET", "/v1/batches/<FOREIGN>", None, (404,)),
    Bad(3, "add to another's batch", "POST", "/v1/batches/<FOREIGN>/items", as_json({"count": 1}), (404,)),
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
