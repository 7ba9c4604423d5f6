"""Counts the DynamoDB requests of each ack, with concurrent consumers that ack neighbours of one page.

``make requests`` prints a table; 1.00 is one request for each ack. No page fills here: each full page takes
one more request, its climb.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fanin.aws.dynamodb.meter import Meter
from fanin.local import LocalRun
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore

ITEMS = 1024
CASES = [(threads, delivery) for delivery in (1, 10, 64) for threads in (1, 16, 32)]


@dataclass(frozen=True, slots=True)
class Count:
    """The cost of a case: DynamoDB requests and refused writes for a number of items."""

    threads: int
    delivery: int
    requests: int
    refused: int
    items: int = ITEMS

    @property
    def per_ack(self) -> float:
        return self.requests / self.items


def measure(run: LocalRun, threads: int, delivery: int) -> Count:
    """Ack one full page of an open batch, *delivery* neighbours in each call, from *threads* threads."""
    client = run.client("dynamodb")
    tracker = Tracker(DynamoStore(client, Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])))
    batch = tracker.open("bench", OpenBatch())
    tracker.add("bench", batch.batch_id, 1)
    group = tracker.add("bench", batch.batch_id, ITEMS).groups[0]
    tracker.ack("bench", [Ack(batch.batch_id, group.id, ITEMS - 1, ITEMS - 1, "warm-up")])
    meter = Meter().attach(client)
    last = ITEMS - 2
    calls = [
        [Ack(batch.batch_id, group.id, i, i, "me") for i in range(first, min(first + delivery, last))]
        for first in range(0, last, delivery)
    ]
    _all_at_once(tracker, calls, threads)
    return Count(threads, delivery, meter.totals["requests"], meter.totals["refused"], items=last)


def _all_at_once(tracker: Tracker, calls: Sequence[Sequence[Ack]], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for report in pool.map(lambda acks: tracker.ack("bench", acks), calls):
            assert all(result.verdict == "accepted" for result in report.results)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with LocalRun.start() as run:
        print("threads  items a call  requests an ack  refused")
        for threads, delivery in CASES:
            count = measure(run, threads, delivery)
            print(f"{threads:7}  {delivery:12}  {count.per_ack:15.3f}  {count.refused:7}")


if __name__ == "__main__":
    main()
