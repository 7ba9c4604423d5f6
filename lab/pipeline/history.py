"""Measures the history job over an archive of many acks from a seeded generator.

    python -m lab.pipeline.history [--acks 2000000] [--batches 20] [--folder build/history]

Each item is acked by a request of its own, so each ack is a change of its page: the largest archive for that
number of acks. Consumers that ack ten at once make a tenth of it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fanin.aws.dynamodb.rows import number, text
from fanin.change_archive.changes import Change, file_of
from fanin.tracker.dynamodb import items
from fanin.tracker.rules.model import Batch, BatchKey, PageKey, State
from fanin.tracker.rules.options import Mode, Retention
from fanin.tracker.rules.page import DIGIT_BITS, PAGE_BITS_MAX
from pipeline.jobs import history

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
RECORDS_A_FILE = 1000
TENANT = "123456789012"


@dataclass
class Stream:
    """The stream records of one kind of table, written in files of 1,000."""

    folder: Path
    kind: str
    chance: random.Random
    changes: list[Change] = field(default_factory=list)
    count: int = 0
    bytes: int = 0

    def record(self, at: datetime, keys: Any, old: Any, new: Any) -> None:
        """Add a change of the item with these *keys*, in the format of the archive."""
        self.count += 1
        body: dict[str, Any] = {"ApproximateCreationDateTime": int(at.timestamp()), "Keys": keys}
        body |= {"NewImage": new} | ({"OldImage": old} if old else {})
        body |= {"SequenceNumber": f"{self.count:021d}", "SizeBytes": 2000}
        event_id = f"{self.chance.getrandbits(128):032x}"
        record = {
            "eventID": event_id,
            "eventName": "MODIFY" if old else "INSERT",
            "eventSource": "aws:dynamodb",
            "dynamodb": body,
        }
        self.changes.append(Change(event_id, f"{self.count:021d}", at, record))
        if len(self.changes) == RECORDS_A_FILE:
            self.flush()

    def flush(self) -> None:
        if not self.changes:
            return
        name, body = file_of(self.kind, self.changes)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self.bytes += len(body)
        self.changes = []


@dataclass
class Leaf:
    """A page that is being filled; yields the attributes that its last two images differ in."""

    n: int = 0
    digits: dict[int, int] = field(default_factory=dict)

    def ack(self, key: PageKey, bit: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Set *bit*; return (old, new), the attributes that change."""
        name, before = f"d{bit // DIGIT_BITS}", self.digits.get(bit // DIGIT_BITS, 0)
        after = before | 1 << bit % DIGIT_BITS
        self.digits[bit // DIGIT_BITS], self.n = after, self.n + 1
        new = {"n": number(self.n), name: number(after)}
        if self.n == 1:
            return {}, items.page_key(key) | new | {"ttl": number(1_800_000_000)}
        return {"n": number(self.n - 1)} | ({name: number(before)} if before else {}), new


def generate(folder: Path, acks: int, batches: int, seed: int) -> tuple[Stream, Stream]:
    """Write the archive of *batches* opened minutes apart, with *acks* in total; return the two streams."""
    chance = random.Random(seed)
    pages, rows = Stream(folder, "pages", chance), Stream(folder, "batches", chance)
    for serial in range(batches):
        batch = _batch(chance, serial, acks // batches)
        _open(rows, batch)
        last = _ack_all(pages, batch, chance)
        _end(rows, batch, last)
    pages.flush()
    rows.flush()
    return pages, rows


def _batch(chance: random.Random, number: int, total: int) -> Batch:
    opened = START + timedelta(minutes=7 * number)
    return Batch(
        tenant=TENANT,
        batch_id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        state=State.OPEN,
        mode=Mode.EXACT,
        user_key=f"run-{number:03d}",
        total=total,
        failed=0,
        page_bits=PAGE_BITS_MAX,
        salt=b"",
        fingerprint="",
        retention=Retention(),
        created_at=opened,
        expires_at=opened + timedelta(days=7),
    )


def _ack_all(pages: Stream, batch: Batch, chance: random.Random) -> datetime:
    """Ack every item, with a long tail of latencies; return the time of the last ack."""
    took = (chance.lognormvariate(4.0, 0.35) for _ in range(batch.total))
    order = sorted((seconds, position) for position, seconds in enumerate(took))
    leaves = [Leaf() for _ in range(-(-batch.total // PAGE_BITS_MAX))]
    for seconds, position in order:
        page, bit = divmod(position, PAGE_BITS_MAX)
        key = PageKey(BatchKey(batch.tenant, batch.batch_id), 0, page)
        old, new = leaves[page].ack(key, bit)
        pages.record(batch.created_at + timedelta(seconds=seconds), items.page_key(key), old, new)
    return batch.created_at + timedelta(seconds=order[-1][0])


def _open(rows: Stream, batch: Batch) -> None:
    image = items.batch_item(batch)
    _record(rows, batch.created_at, {}, image)


def _end(rows: Stream, batch: Batch, last: datetime) -> None:
    opened = items.batch_item(batch)
    times = {
        "closedAt": number(items.milliseconds(batch.created_at + timedelta(seconds=1))),
        "completedAt": number(items.milliseconds(last)),
        "endedAt": number(items.milliseconds(last)),
    }
    _record(rows, last, opened, opened | times | {"state": text(State.COMPLETE)})
    keys = {"pk": opened["pk"], "sk": text(items.EVENT_ROW)}
    _record(rows, last + timedelta(seconds=1), {}, keys)


def _record(rows: Stream, at: datetime, old: Any, new: Any) -> None:
    keys = {"pk": new["pk"], "sk": new["sk"]}
    rows.record(at, keys, _without_salt(old), _without_salt(new))


def _without_salt(image: Any) -> Any:
    return {name: value for name, value in image.items() if name != "salt"}


def _run(folder: Path, cores: str) -> None:
    started = time.monotonic()
    archive, out = str(folder / "archive" / "changes"), str(folder / "history")
    history.main(["--archive", archive, "--out", out, "--cores", cores])
    print(f"the job, with the start of Spark: {time.monotonic() - started:.1f} s")


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--acks", type=int, default=2_000_000)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", default="*")
    parser.add_argument("--folder", type=Path, default=Path("build/history"), help="written anew")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    started = time.monotonic()
    pages, _ = generate(options.folder / "archive", options.acks, options.batches, options.seed)
    print(f"{pages.count:,} changes in {pages.bytes / 1e6:.1f} MB, {time.monotonic() - started:.1f} s")
    _run(options.folder, options.cores)


if __name__ == "__main__":
    main()
