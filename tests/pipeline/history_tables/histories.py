"""Runs batches, tasks and jobs through production code, and archives the records of their streams."""

from __future__ import annotations

import atexit
import functools
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moto import mock_aws

from fanin.change_archive import Archive
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, BatchKey, Group, Mode, OpenBatch, Outcome, Tracker
from fanin.tracker.dynamodb import DynamoStore
from tests.change_archive.streams import iterator, read_on, turn_on
from tests.contract import grouper_tables, moto_clients, queue_table
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
    """Archives the records of the streams of *client*'s tables, with *at*, the time that a test sets."""

    client: Any
    streams: Any
    archive: Archive
    at: datetime = START
    places: dict[str, str] = field(default_factory=dict)

    def wait(self, seconds: float) -> None:
        """Archive the records up to now, and advance the time."""
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
        client = moto_clients.client("dynamodb")
        create_tables(client)
        grouper_tables.create_tables(client)
        queue_table.create_queue_table(client)
        turn_on(client, *tables)
        streams = moto_clients.client("dynamodbstreams")
        kinds = {table: KINDS[table] for table in tables}
        recorder = Recorder(client, streams, Archive(Folder(folder), kinds))
        yield recorder
        recorder.keep()


@dataclass
class RecordedBatch:
    """One batch of a tracker on the recorder's clock; every ack that is sent is in *log* too."""

    recorder: Recorder
    spec: OpenBatch = field(default_factory=OpenBatch)
    page_bits: int = 8
    log: list[dict[str, Any]] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        store = DynamoStore(self.recorder.client, Tables("Batches", "Pages"), pause=lambda _: None)
        self.tracker = Tracker(store, page_bits=self.page_bits, now=lambda: self.recorder.at)
        self.batch_id = self.tracker.open(TENANT, self.spec).batch_id

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


@dataclass
class Cast:
    """Batches of every outcome, in the archive *folder*, by their ends."""

    folder: Path
    batches: dict[str, RecordedBatch]

    @property
    def archive(self) -> str:
        return str(self.folder / "changes")

    def __getitem__(self, name: str) -> RecordedBatch:
        return self.batches[name]


@functools.cache
def cast() -> Cast:
    """Recorded once a test run."""
    folder = Path(tempfile.mkdtemp(prefix="fanin-history-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with recorded(folder, "Batches", "Pages") as recorder:
        batches = {name: run(recorder) for name, run in OUTCOMES.items()}
    return Cast(folder, batches)


def _well(recorder: Recorder) -> RecordedBatch:
    """50 items in random order, three a second, some acked again, the last one late; event confirmed."""
    batch = RecordedBatch(recorder, OpenBatch(user_key="well"))
    batch.add(50)
    recorder.wait(1)
    batch.close()
    order = list(range(50))
    random.Random(7).shuffle(order)
    for first in range(0, 48, 3):
        batch.ack(order[first : first + 3])
        batch.ack(order[first : first + 1])
        recorder.wait(1)
    batch.ack(order[48:49])
    recorder.wait(30)
    batch.ack(order[49:])
    recorder.wait(2)
    batch.confirm()
    recorder.wait(3600)
    return batch


def _with_failures(recorder: Recorder) -> RecordedBatch:
    """20 items, of which five fail and one of these is healed."""
    batch = RecordedBatch(recorder, OpenBatch(user_key="with failures"))
    batch.add(20)
    batch.ack(range(3), Outcome.FAILURE, "no such thing")
    batch.ack(range(3, 5), Outcome.FAILURE, "too late")
    recorder.wait(2)
    batch.ack([4])
    recorder.wait(3)
    batch.ack(range(5, 20))
    batch.close()
    recorder.wait(60)
    return batch


def _ended_by_failures(recorder: Recorder) -> RecordedBatch:
    batch = RecordedBatch(recorder, OpenBatch(max_failures=2))
    batch.add(10)
    batch.close()
    batch.ack([0, 1], Outcome.FAILURE)
    recorder.wait(60)
    return batch


def _timed_out(recorder: Recorder) -> RecordedBatch:
    """Thirteen of 20 items are acked when the deadline comes; the event has to be sent again."""
    batch = RecordedBatch(recorder, OpenBatch(user_key="timed out", deadline=timedelta(seconds=30)))
    batch.add(20)
    batch.close()
    recorder.wait(10)
    batch.ack(range(13))
    recorder.wait(50)
    batch.tracker.sweep()
    recorder.wait(1800)
    batch.tracker.sweep()
    recorder.wait(1)
    batch.confirm()
    recorder.wait(60)
    return batch


def _cancelled(recorder: Recorder) -> RecordedBatch:
    batch = RecordedBatch(recorder)
    batch.add(5)
    batch.tracker.cancel(TENANT, batch.batch_id, "changed my mind")
    recorder.wait(60)
    return batch


def _estimated(recorder: Recorder) -> RecordedBatch:
    """Ten items, acked twelve times."""
    batch = RecordedBatch(recorder, OpenBatch(mode=Mode.ESTIMATED))
    batch.add(10)
    for first in range(0, 9, 3):
        batch.ack([*range(first, first + 3), first])
        recorder.wait(1)
    batch.close()
    recorder.wait(60)
    return batch


def _parent(recorder: Recorder) -> RecordedBatch:
    """Two items, one of which a batch of its own stands for: :func:`_child`."""
    batch = RecordedBatch(recorder, OpenBatch(user_key="parent"))
    batch.add(2)
    batch.close()
    child = RecordedBatch(
        recorder, OpenBatch(user_key="child", parent_item_id=f"{batch.batch_id}:{batch.groups[0].id}:1")
    )
    child.add(9)
    child.close()
    recorder.wait(5)
    batch.ack([0])
    recorder.wait(5)
    child.ack(range(9))
    recorder.wait(60)
    return batch


def _folded(recorder: Recorder) -> RecordedBatch:
    """200 items, all acked in one go, seven of them as failures."""
    batch = RecordedBatch(recorder)
    batch.add(200)
    batch.close()
    recorder.wait(1)
    group = batch.groups[0].id
    failed = [Ack(batch.batch_id, group, index, index, "c", Outcome.FAILURE) for index in range(7)]
    batch.tracker.ack(TENANT, failed)
    recorder.wait(1)
    batch.tracker.ack(TENANT, [Ack(batch.batch_id, group, 0, 199, "c")])
    recorder.wait(60)
    return batch


def _open(recorder: Recorder) -> RecordedBatch:
    """It is not closed, and nothing has happened for two hours."""
    batch = RecordedBatch(recorder, OpenBatch(user_key="open"))
    batch.add(16)
    recorder.wait(1)
    batch.ack(range(8))
    recorder.wait(7200)
    batch.add(1)
    return batch


OUTCOMES: dict[str, Callable[[Recorder], RecordedBatch]] = {
    "well": _well,
    "with failures": _with_failures,
    "ended by failures": _ended_by_failures,
    "timed out": _timed_out,
    "cancelled": _cancelled,
    "estimated": _estimated,
    "parent": _parent,
    "folded": _folded,
    "open": _open,
}
