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
class Life:
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
    """Batches of every fate, in the archive *folder*, by their ends."""

    folder: Path
    lives: dict[str, Life]

    @property
    def archive(self) -> str:
        return str(self.folder / "changes")

    def __getitem__(self, name: str) -> Life:
        return self.lives[name]


@functools.cache
def cast() -> Cast:
    """Lived once a test run."""
    folder = Path(tempfile.mkdtemp(prefix="fanin-history-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with recorded(folder, "Batches", "Pages") as recorder:
        lives = {name: live(recorder) for name, live in FATES.items()}
    return Cast(folder, lives)


def _well(recorder: Recorder) -> Life:
    """50 items in random order, three a second, some acked again, the last one late; event confirmed."""
    life = Life(recorder, OpenBatch(user_key="well"))
    life.add(50)
    recorder.wait(1)
    life.close()
    order = list(range(50))
    random.Random(7).shuffle(order)
    for first in range(0, 48, 3):
        life.ack(order[first : first + 3])
        life.ack(order[first : first + 1])
        recorder.wait(1)
    life.ack(order[48:49])
    recorder.wait(30)
    life.ack(order[49:])
    recorder.wait(2)
    life.confirm()
    recorder.wait(3600)
    return life


def _with_failures(recorder: Recorder) -> Life:
    """20 items, of which five fail and one of these is healed."""
    life = Life(recorder, OpenBatch(user_key="with failures"))
    life.add(20)
    life.ack(range(3), Outcome.FAILURE, "no such thing")
    life.ack(range(3, 5), Outcome.FAILURE, "too late")
    recorder.wait(2)
    life.ack([4])
    recorder.wait(3)
    life.ack(range(5, 20))
    life.close()
    recorder.wait(60)
    return life


def _ended_by_failures(recorder: Recorder) -> Life:
    life = Life(recorder, OpenBatch(max_failures=2))
    life.add(10)
    life.close()
    life.ack([0, 1], Outcome.FAILURE)
    recorder.wait(60)
    return life


def _timed_out(recorder: Recorder) -> Life:
    """Thirteen of 20 items are acked when the deadline comes; the event has to be sent again."""
    life = Life(recorder, OpenBatch(user_key="timed out", deadline=timedelta(seconds=30)))
    life.add(20)
    life.close()
    recorder.wait(10)
    life.ack(range(13))
    recorder.wait(50)
    life.tracker.sweep()
    recorder.wait(1800)
    life.tracker.sweep()
    recorder.wait(1)
    life.confirm()
    recorder.wait(60)
    return life


def _cancelled(recorder: Recorder) -> Life:
    life = Life(recorder)
    life.add(5)
    life.tracker.cancel(TENANT, life.batch_id, "changed my mind")
    recorder.wait(60)
    return life


def _estimated(recorder: Recorder) -> Life:
    """Ten items, acked twelve times."""
    life = Life(recorder, OpenBatch(mode=Mode.ESTIMATED))
    life.add(10)
    for first in range(0, 9, 3):
        life.ack([*range(first, first + 3), first])
        recorder.wait(1)
    life.close()
    recorder.wait(60)
    return life


def _parent(recorder: Recorder) -> Life:
    """Two items, one of which a batch of its own stands for: :func:`_child`."""
    life = Life(recorder, OpenBatch(user_key="parent"))
    life.add(2)
    life.close()
    child = Life(
        recorder, OpenBatch(user_key="child", parent_item_id=f"{life.batch_id}:{life.groups[0].id}:1")
    )
    child.add(9)
    child.close()
    recorder.wait(5)
    life.ack([0])
    recorder.wait(5)
    child.ack(range(9))
    recorder.wait(60)
    return life


def _folded(recorder: Recorder) -> Life:
    """200 items, all acked in one go, seven of them as failures."""
    life = Life(recorder)
    life.add(200)
    life.close()
    recorder.wait(1)
    group = life.groups[0].id
    failed = [Ack(life.batch_id, group, index, index, "c", Outcome.FAILURE) for index in range(7)]
    life.tracker.ack(TENANT, failed)
    recorder.wait(1)
    life.tracker.ack(TENANT, [Ack(life.batch_id, group, 0, 199, "c")])
    recorder.wait(60)
    return life


def _open(recorder: Recorder) -> Life:
    """Nobody has closed it, and nothing has happened for two hours."""
    life = Life(recorder, OpenBatch(user_key="open"))
    life.add(16)
    recorder.wait(1)
    life.ack(range(8))
    recorder.wait(7200)
    life.add(1)
    return life


FATES: dict[str, Callable[[Recorder], Life]] = {
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
