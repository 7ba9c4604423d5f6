"""Wrong in what is to be published."""

from __future__ import annotations

from typing import Any

from tests.api.bad_inputs.table import BODIES, PUBLISH, Bad, as_json


def publishing(name: str, **changed: Any) -> Bad:
    return Bad(22, f"publish-{name}", "POST", PUBLISH, as_json(BODIES[PUBLISH] | changed))


PUBLICATIONS = [
    *(
        publishing(f"source {value!r:.40}", source=value)
        for value in (
            *("", "s3://lake", "s3://lake/", "s3://lake/in/rows.csv", "file:///in/rows.jsonl"),
            *("s3://lake/in/../rows.jsonl", "s3://lake/in/./rows.jsonl", "s3://Lake/in/rows.jsonl"),
            *("s3://lake/in/a\nb.jsonl", "s3://lake/in/ä.jsonl", f"s3://lake/in/{'x' * 1100}.jsonl"),
            *("s3://lake/out/rows.jsonl", "s3://lakes/in/rows.jsonl", None, 7, ["s3://lake/in/rows.jsonl"]),
        )
    ),
    *(
        publishing(f"queue {value!r:.40}", queue=value)
        for value in ("", "lake-rows", f"{BODIES[PUBLISH]['queue']}.fifo", f"{BODIES[PUBLISH]['queue']}2", 7)
    ),
    *(publishing(f"chunk {value!r}", chunk=value) for value in (0, -1, 10_001, 1.5, "7", True, [7])),
    *(publishing(f"rate {value!r}", rate=value) for value in (0, 0.5, -1, 10_001, "7", True, [7])),
    *(publishing(f"group {value!r:.20}", messageGroup=value) for value in ("", "a b", "x" * 129, "ä", 7)),
    publishing("an unknown name", tenant="another"),
]
