"""Lives of batches, tasks and jobs as production code leads them; all that their streams tell is archived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
from moto import mock_aws

from fanin.archive import Archive
from fanin.aws.settings import Tables
from fanin.tracker import Ack, BatchKey, Group, Mode, OpenBatch, Outcome, Tracker
from fanin.tracker.dynamodb import DynamoStore
from tests.archive.streams import iterator, read_on, turn_on
from tests.contract import grouper_tables, queue_table
from tests.contract.tables import create_tables

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TENANT = "a#tenant"
KINDS = {
    "Batches": "batches",
    "Pages": "pages",
    "GroupTasks": "tasks",
    "GroupBundles": "bundles",
    "Queue": "jobs",
}


@dataclass(frozen=True)
class Folder:
    """Files below a folder of this machine."""

    path: Path

    def put(self, name: str, body: bytes) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)


@dataclass
class Recorder:
    """Keeps what the streams of *client*'s tables tell, as told at *at*, the time that a test moves on."""

    client: Any
    streams: Any
    archive: Archive
    at: datetime = START
    places: dict[str, str] = field(default_factory=dict)

    def wait(self, seconds: float) -> None:
        """Keep what was told up to now, and let time go by."""
        self.keep()
        self.at += timedelta(seconds=seconds)

    def keep(self) -> None:
        for table in self.archive.tables:
            place = self.places.get(table) or iterator(self.client, self.streams, table)
            records, self.places[table] = read_on(self.streams, table, place)
            for record in records:
                record["dynamodb"]["ApproximateCreationDateTime"] = float(int(self.at.timestamp()))
            self.archive.keep(records)


@contextmanager
def recorded(folder: Path, *tables: str) -> Iterator[Recorder]:
    """A recorder into *folder* over *tables* of moto, which have streams from now on."""
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_tables(client)
        grouper_tables.create_tables(client)
        queue_table.create_queue_table(client)
        turn_on(client, *tables)
        streams = boto3.client("dynamodbstreams", region_name="us-east-1")
        kinds = {table: KINDS[table] for table in tables}
        recorder = Recorder(client, streams, Archive(Folder(folder), kinds))
        yield recorder
        recorder.keep()


@dataclass
class Life:
    """One batch of a tracker on the recorder's clock; every ack that is sent is in *log* too."""

    recorder: Recorder
    wish: OpenBatch = field(default_factory=OpenBatch)
    page_bits: int = 8
    log: list[dict[str, Any]] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        store = DynamoStore(self.recorder.client, Tables("Batches", "Pages"), pause=lambda _: None)
        self.tracker = Tracker(store, page_bits=self.page_bits, now=lambda: self.recorder.at)
        self.batch_id = self.tracker.open(TENANT, self.wish).batch_id

    def add(self, count: int) -> None:
        self.groups += self.tracker.add(TENANT, self.batch_id, count).groups

    def ack(
        self, indexes: Sequence[int], outcome: Outcome = Outcome.SUCCESS, reason: str | None = None
    ) -> None:
        """One request for the items *indexes* of the first group."""
        group = self.groups[0].id
        acks = [Ack(self.batch_id, group, index, index, "c", outcome, reason) for index in indexes]
        self.tracker.ack(TENANT, acks)
        at = int(self.recorder.at.timestamp() * 1000)
        self.log += [
            {
                "item_id": f"{self.batch_id}:{group}:{index}",
                "outcome": str(outcome),
                "reason": reason,
                "at": at,
                "sent_at": at - 1500 - 10 * index,
            }
            for index in indexes
        ]

    def close(self) -> None:
        self.tracker.close(TENANT, self.batch_id, "c")

    def confirm(self) -> None:
        """The bus has the ending event."""
        self.tracker.store.confirm(BatchKey(TENANT, self.batch_id), self.recorder.at)


def estimated(**wish: Any) -> OpenBatch:
    return OpenBatch(mode=Mode.ESTIMATED, **wish)
