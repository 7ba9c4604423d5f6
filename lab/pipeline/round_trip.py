"""Runs fan_out, bulk_ack, reconcile and redrive over one batch of 10,000,000 items on the local run.

``python -m lab.pipeline.round_trip`` acks every item but 137, in random order and one in twenty twice;
reconcile must find exactly the 137, and redrive must complete the batch. It exits with 1 if anything differs.
Options: ``--items``, ``--withheld`` and ``--seed``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanin import Fanin
from fanin.local import LocalRun
from fanin.local.emulator_process.connection import ACCOUNT
from lab.pipeline import measured_job

ROWS_A_FILE = 1_000_000
LOGS = 16
DATASET = "dataset.parquet"
REPEATED = 0.05
PATIENCE_SECONDS = 60.0


def write_dataset(folder: Path, items: int) -> None:
    """*items* orders, each with a number and a name."""
    folder.mkdir()
    for at in range(0, items, ROWS_A_FILE):
        number = pa.array(np.arange(at, min(at + ROWS_A_FILE, items)))
        name = pa.compute.binary_join_element_wise("order", number.cast(pa.string()), "-")
        pq.write_table(pa.table({"number": number, "name": name}), folder / f"{at:012}.parquet")


def write_logs(messages: Path, logs: Path, withheld: int, seed: int) -> set[str]:
    """Ack logs of *messages*, in random order, some twice; the ids of the items that no log has."""
    chance = np.random.default_rng(seed)
    ids = pq.read_table(messages, columns=["item_id"]).column(0)
    order = chance.permutation(len(ids))
    kept = order[withheld:]
    rows = np.concatenate([kept, chance.choice(kept, int(len(ids) * REPEATED), replace=False)])
    chance.shuffle(rows)
    logs.mkdir()
    for number, some in enumerate(np.array_split(rows, LOGS)):
        pq.write_table(pa.table({"item_id": ids.take(pa.array(some))}), logs / f"{number:03}.parquet")
    return set(ids.take(pa.array(order[:withheld])).to_pylist())


class RoundTrip:
    """The run of one batch through the four jobs."""

    def __init__(self, run: LocalRun, folder: Path, items: int) -> None:
        self.run, self.folder, self.items = run, folder, items
        self.environment = {**run.environment, "SPARK_LOCAL_DIRS": str(folder)}
        batches, pages = run.outputs["BatchesTable"], run.outputs["PagesTable"]
        self.tables = ["--batches-table", batches, "--pages-table", pages]
        self.odd: list[str] = []

    def place(self, name: str) -> str:
        return str(self.folder / name)

    def job(self, name: str, *arguments: str) -> measured_job.JobRun:
        completed = measured_job.run(name, arguments, self.environment)
        print(f"{name:>10}: {completed.summary(self.items)}", flush=True)
        return completed

    def expect(self, claim: str, found: Any, wanted: Any) -> None:
        """Print *found*, and record it if it is not *wanted*."""
        print(f"            {claim}: {found}", flush=True)
        if found != wanted:
            self.odd.append(f"{claim}: {found} in place of {wanted}")

    def fan_out(self) -> str:
        """Run fan_out; return the batch's id."""
        places = ["--dataset", self.place(DATASET), "--manifest", self.place("manifest")]
        completed = self.job("fan_out", *places, "--files", self.place("messages"), "--api-url", self.run.url)
        self.expect("messages", completed.events["saved"]["sent"], self.items)
        return str(completed.events["opened"]["batchId"])

    def ack(self, fresh: int) -> None:
        """Run bulk_ack, which must ack *fresh* items."""
        logs = [self.place("logs"), "--tenant", ACCOUNT, "--rejects", self.place("rejects")]
        acked = self.job("bulk_ack", *logs, *self.tables).events["acked"]
        self.expect("newly acked", acked["fresh"], fresh)
        self.expect("pages written", acked["written"], acked["pages"] if fresh else 0)

    def reconcile(self, batch_id: str, withheld: set[str]) -> None:
        places = ["--batch", batch_id, "--manifest", self.place("manifest"), "--out", self.place("left")]
        self.job("reconcile", *places, *self.tables)
        found = set(pq.read_table(self.place("left"), columns=["item_id"]).column(0).to_pylist())
        self.expect("outstanding", len(found), len(withheld))
        self.expect("outstanding are those withheld", found == withheld, True)

    def redrive(self, batch_id: str) -> None:
        """Run redrive to a queue, and ack the items that are received from it."""
        sqs = self.run.client("sqs")
        url = sqs.create_queue(QueueName="round-trip")["QueueUrl"]
        self.job("redrive", "--saved", self.place("left"), "--queue-url", url, *self.tables)
        fanin = Fanin(self.run.url)
        over = time.monotonic() + PATIENCE_SECONDS
        while not fanin.status(batch_id).is_complete and time.monotonic() < over:
            fanin.ack(list(_received(sqs, url)))
        batch = fanin.status(batch_id)
        self.expect("the batch", (batch.state, batch.total), ("COMPLETE", self.items))


def _received(sqs: Any, url: str) -> Iterator[str]:
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
    for message in answer.get("Messages", []):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        yield json.loads(message["Body"])["itemId"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--withheld", type=int, default=137)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, LocalRun.start() as run:
        trip = RoundTrip(run, Path(folder), options.items)
        write_dataset(Path(folder, DATASET), options.items)
        batch_id = trip.fan_out()
        logs = Path(folder, "logs")
        withheld = write_logs(Path(folder, "messages"), logs, options.withheld, options.seed)
        trip.ack(options.items - options.withheld)
        trip.ack(0)
        trip.reconcile(batch_id, withheld)
        trip.redrive(batch_id)
    sys.exit("\n".join(trip.odd) or None)


if __name__ == "__main__":
    main()
