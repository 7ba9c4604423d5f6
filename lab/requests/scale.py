"""Compares batches of 1,000 and of 10,000,000 items: ``make scale``.

On the local run it measures the DynamoDB requests of one ack, its latency (p50, interleaved, HTTP), the time
and the rows read to list 3 outstanding items, and the stored bits for each item of a fully acked batch.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time

from fanin.aws.dynamodb.meter import Meter
from fanin.cost.sizes import size_of
from fanin.local import LocalRun
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from lab.local.races import Api

TENANT = "000000000000"
SMALL, LARGE = 1_000, 10_000_000
RANGE = 1_000_000
ROUNDS = 300
BILLED_OVERHEAD = 100
"""Bytes that DynamoDB's storage bill adds to an item."""


class Batch:
    """A batch under measurement."""

    def __init__(self, tracker: Tracker, total: int) -> None:
        self.tracker, self.total = tracker, total
        self.id = tracker.open(TENANT, OpenBatch()).batch_id
        self.group = tracker.add(TENANT, self.id, total).groups[0].id

    def item(self, index: int) -> str:
        return f"{self.id}:{self.group}:{index}"

    def ack(self, first: int, last: int) -> None:
        self.tracker.ack(TENANT, [Ack(self.id, self.group, first, last, "bench")])

    def ack_all_but(self, missing: list[int]) -> None:
        """Ack all other items, a million in each request."""
        starts = [0, *(index + 1 for index in missing)]
        ends = [*(index - 1 for index in missing), self.total - 1]
        for start, end in zip(starts, ends, strict=True):
            for first in range(start, end + 1, RANGE):
                self.ack(first, min(first + RANGE - 1, end))


def rows_of_an_ack(batch: Batch, meter: Meter) -> dict[str, float]:
    """Return the requests of one ack of a new item, by operation, after the batch was cached."""
    batch.ack(0, 0)
    before = meter.totals.copy()
    batch.ack(1, 1)
    return {kind: count for kind, count in (meter.totals - before).items() if not kind.endswith("units")}


def latencies(api: Api, batches: tuple[Batch, Batch]) -> list[list[float]]:
    """Return the milliseconds of single acks over HTTP, alternating between the batches."""
    found: list[list[float]] = [[], []]
    for index in range(10, 10 + ROUNDS):
        for times, batch in sorted(zip(found, batches, strict=True), key=lambda _: random.random()):
            started = time.perf_counter()
            api.post("/v1/acks", {"items": [batch.item(index)]})
            times.append(1000 * (time.perf_counter() - started))
    return found


def missing_of(api: Api, batch: Batch) -> tuple[list[int], float]:
    """Return the outstanding items in one page of the API's list, and the seconds of the request."""
    started = time.perf_counter()
    answer = api.pool.request("GET", f"{api.url}/v1/batches/{batch.id}/outstanding")
    seconds = time.perf_counter() - started
    ranges = json.loads(answer.data)["ranges"]
    return [index for part in ranges for index in range(part["from"], part["to"] + 1)], seconds


def kept_bytes(run: LocalRun, batch: Batch) -> tuple[int, int]:
    """Return the number of the batch's page rows, and their size by DynamoDB's rules: names and values."""
    scan = run.client("dynamodb").get_paginator("scan")
    rows = [
        row
        for page in scan.paginate(TableName=run.outputs["PagesTable"], ConsistentRead=True)
        for row in page["Items"]
        if batch.id in row["pk"]["S"]
    ]
    return len(rows), sum(map(size_of, rows))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with LocalRun.start() as run:
        client = run.client("dynamodb")
        meter = Meter().attach(client)
        tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
        tracker, api = Tracker(DynamoStore(client, tables)), Api(run.url)
        small, large = Batch(tracker, SMALL), Batch(tracker, LARGE)
        for batch in (small, large):
            print(f"one ack of {batch.total:>10,} items: {rows_of_an_ack(batch, meter)}")
        p50 = [statistics.median(times) for times in latencies(api, (small, large))]
        print(f"p50 of an ack over HTTP: {p50[0]:.1f} ms and {p50[1]:.1f} ms, ratio {p50[1] / p50[0]:.2f}")
        missing = [0, LARGE // 2, LARGE - 1]
        filled = Batch(tracker, LARGE)
        started = time.perf_counter()
        filled.ack_all_but(missing)
        print(f"{LARGE - 3:,} items acked in ranges in {time.perf_counter() - started:.0f} s", flush=True)
        found, seconds = missing_of(api, filled)
        print(f"outstanding: {found}, one page in {seconds:.2f} s")
        for index in missing:
            filled.ack(index, index)
        tracker.close(TENANT, filled.id, "bench")
        rows, size = kept_bytes(run, filled)
        billed = size + rows * BILLED_OVERHEAD
        print(f"kept: {rows:,} pages, {8 * size / LARGE:.2f} bits an item by item sizes")
        print(f"      {8 * billed / LARGE:.2f} bits an item with the 100 bytes that the bill adds to each")


if __name__ == "__main__":
    main()
