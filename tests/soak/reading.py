"""What is read at the end: batches, their failures, and rows of tables."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fanin.local import LocalRun
from tests.soak.wire.client import Client

READERS = 4
Row = Mapping[str, Any]


def batches(api: Client, ids: Sequence[str]) -> dict[str, Row | None]:
    """Return each batch as the API shows it; None for one that is gone."""
    with ThreadPoolExecutor(READERS) as readers:
        return dict(zip(ids, readers.map(lambda each: batch(api, each), ids), strict=True))


def batch(api: Client, name: str) -> Row | None:
    for _ in range(5):
        answer = api.pool.request("GET", f"{api.url}/v1/batches/{name}")
        if answer.status in (200, 404):
            break
        time.sleep(0.5)
    found: Row | None = json.loads(answer.data) if answer.status == 200 else None
    return found


def failures(api: Client, batch: str) -> set[str]:
    """Return the ids of the items in the list of failures, all its pages."""
    found: set[str] = set()
    cursor = ""
    while True:
        page = api.get(f"/v1/batches/{batch}/failures{cursor}")
        for each in page["ranges"]:
            found |= {f"{batch}:{each['groupId']}:{at}" for at in range(each["from"], each["to"] + 1)}
        if not page.get("cursor"):
            return found
        cursor = f"?cursor={page['cursor']}"


def keys(run: LocalRun, output: str) -> list[str]:
    """Return the partition keys of all rows of a table."""
    pages = run.client("dynamodb").get_paginator("scan").paginate(TableName=run.outputs[output])
    return [row["pk"]["S"] for page in pages for row in page["Items"]]
