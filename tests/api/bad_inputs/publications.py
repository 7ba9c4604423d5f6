"""Wrong in what is to be published."""

from __future__ import annotations

from typing import Any

from tests.api.bad_inputs.table import BODIES, PUBLISH, Bad, as_json

WAITS = {"taskToken": "x", "deadlineSeconds": 60}


def publishing(name: str, value: Any, **others: Any) -> Bad:
    """The field *name* has a wrong *value*, which the answer has to say."""
    body = as_json(BODIES[PUBLISH] | others | {name: value})
    return Bad(22, f"publish-{name} {value!r:.40}", "POST", PUBLISH, body, names=name)


PUBLICATIONS = [
    *(
        publishing("source", value)
        for value in (
            *("", "s3://lake", "s3://lake/", "s3://lake/in/rows.csv.gz", "file:///in/rows.jsonl"),
            *("s3://lake/in/../rows.jsonl", "s3://lake/in/./rows.jsonl", "s3://Lake/in/rows.jsonl"),
            *("s3://lake/in/a\nb.jsonl", "s3://lake/in/ä.jsonl", f"s3://lake/in/{'x' * 1100}.jsonl"),
            *("s3://lake/out/rows.jsonl", "s3://lakes/in/rows.jsonl", None, 7, ["s3://lake/in/rows.jsonl"]),
        )
    ),
    *(
        publishing("queue", value)
        for value in ("", "lake-rows", f"{BODIES[PUBLISH]['queue']}.fifo", f"{BODIES[PUBLISH]['queue']}2", 7)
    ),
    *(publishing("chunk", value) for value in (0, -1, 10_001, 1.5, "7", True, [7])),
    *(publishing("rate", value) for value in (0, 0.5, -1, 10_001, "7", True, [7])),
    *(publishing("messageGroup", value) for value in ("", "a b", "x" * 129, "ä", 7)),
    *(publishing("userKey", value) for value in ("", "x" * 257, "a\0b", 7)),
    *(publishing("deadlineSeconds", value) for value in (0, -1, 1.5, "60", True, [60], 400 * 86_400 + 1)),
    *(publishing("callback", value) for value in ("", "a b", "-a", "x" * 65, "ä", 7, "unknown")),
    *(publishing("taskToken", value, **WAITS) for value in ("", "x" * 2049, "a b", "ä", 7, "x")),
    *(
        publishing("durableCallbackId", value, deadlineSeconds=60)
        for value in ("", "x" * 1025, "x===", "a-b", 7, "QUJD")
    ),
    publishing("durableCallbackId", "QUJD", **WAITS),
    publishing("deadlineSeconds", None, taskToken="x"),
    *(publishing("onFailures", value, **WAITS) for value in ("", "FAIL", None, 1)),
    publishing("onFailures", "fail"),
    *(publishing(name, 0) for name in ("maxItems", "maxCost", "maxFailures", "minSucceeded", "results")),
    *(publishing(name, 101) for name in ("maxFailurePercent", "minSucceededPercent", "traceparent", "mode")),
    *(
        publishing(name, value)
        for name, value in (("tenant", "another"), ("labels", {"a": "b"}), ("expectedItems", 5))
    ),
]
