"""Wrong in what is said of items: their ids, ranges, outcomes, and the reasons for failing or cancelling."""

from __future__ import annotations

from tests.api.bad_inputs.table import CANCEL, Bad, acking, as_json

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
        acking(row, f"item {text[:60]!r}", {"items": [text]})
        for row, texts in _STRANGE_ITEMS.items()
        for text in texts
    ),
    *(
        acking(55, f"good and {text[:20]!r}", {"items": ["<ITEM>", text]})
        for text in ("x", "", "<BATCH>:<GROUP>:-1")
    ),
    acking(46, "no items", {"items": []}),
    acking(47, "nothing", {}),
    acking(47, "items a string", {"items": "<ITEM>"}),
    acking(47, "items an object", {"items": {"0": "<ITEM>"}}),
    acking(47, "items null", {"items": None}),
    acking(47, "items of numbers", {"items": [1]}),
    acking(47, "items of lists", {"items": [["<ITEM>"]]}),
    acking(48, "1,001 items", {"items": ["<ITEM>"] * 1001}),
    acking(48, "1,001 acks", {"acks": [{"itemId": "<ITEM>"}] * 1001}),
    acking(48, "100,000 items", {"items": ["<ITEM>"] * 100_000}, expect=(413,)),
]
_RANGE = {"batchId": "<BATCH>", "groupId": "<GROUP>", "from": 0, "to": 1}
RANGES = [
    acking(46, "no acks", {"acks": []}),
    acking(47, "items and acks", {"items": ["<ITEM>"], "acks": [{"itemId": "<ITEM>"}]}),
    acking(47, "an empty ack", {"acks": [{}]}),
    acking(47, "an item and a range", {"acks": [{"itemId": "<ITEM>", **_RANGE}]}),
    *(
        acking(47, f"range without {name}", {"acks": [{k: v for k, v in _RANGE.items() if k != name}]})
        for name in _RANGE
    ),
    acking(51, "range backwards", {"acks": [{**_RANGE, "from": 2}]}),
    *(
        acking(51, f"range to {end!r}", {"acks": [{**_RANGE, "to": end}]})
        for end in (-1, "1", 1.0, True, 2**36)
    ),
    acking(48, "a range of 2^30", {"acks": [{**_RANGE, "to": 2**30}]}),
    acking(48, "ranges of 100,001", {"acks": [{**_RANGE, "to": 99_999}, {"itemId": "<ITEM>"}]}),
    acking(40, "range of a strange batch", {"acks": [{**_RANGE, "batchId": "{<BATCH>}"}]}),
    acking(40, "range of a strange group", {"acks": [{**_RANGE, "groupId": "x"}]}),
    acking(17, "unknown outcome", {"acks": [{"itemId": "<ITEM>", "outcome": "maybe"}]}),
    acking(17, "unknown field of an ack", {"acks": [{"itemId": "<ITEM>", "extra": 1}]}),
    acking(55, "good and bad acks", {"acks": [{"itemId": "<ITEM>"}, {**_RANGE, "from": 2}]}),
]
_REASONS = ("", "x" * 513, "a\0b", "a\nb", "\x1b[31m", '\r\n{"level":"ERROR"}', "a\ud800", 7, True, [], {})
REASONS = [
    *(
        Bad(20, f"cancel-reason {value!r:.40}", "POST", CANCEL, as_json({"reason": value}))
        for value in _REASONS
    ),
    *(
        acking(
            20,
            f"reason {value!r:.40}",
            {"acks": [{"itemId": "<ITEM>", "outcome": "failure", "reason": value}]},
        )
        for value in _REASONS
    ),
    acking(17, "a reason for success", {"acks": [{"itemId": "<ITEM>", "reason": "x"}]}),
    acking(17, "a reason for plain items", {"items": ["<ITEM>"], "reason": "x"}),
]
