"""Collects the facts of the report: bounded numbers of rows of the tables in a folder.

The tables are Parquet, read without Spark: large ones were aggregated before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs

from fanin.errors import FaninError
from fanin.history_report.facts import (
    ALIVE,
    ENDED_WELL,
    Bar,
    BatchFacts,
    History,
    Point,
    Repeats,
    Row,
    Shares,
)

LISTED, DRAWN, NAMED = 200, 12, 20
"""Batches in the list, batches with a section of their own, and stragglers of each."""
BUCKETS = 160
"""The most time steps of a curve."""
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
FACTS = frozenset(field.name for field in fields(BatchFacts))
"""The columns of a batch that are copied to its facts."""
PARQUET = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
NEEDED = "name the folder that the job history wrote with --out"


class NoTables(FaninError):
    """The folder does not hold the tables of a history; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Reads rows of the tables in the folder *root*, a path or an ``s3://`` URI."""

    root: str

    def rows(
        self, name: str, ids: Collection[str] | None = None, columns: list[str] | None = None
    ) -> list[Row]:
        """Return the rows of the table *name*, of some batches or all. Raises NoTables."""
        if ids == []:
            return []
        path = f"{self.root.rstrip('/')}/{name}"
        chosen = None if ids is None else pc.field("batch_id").isin(list(ids))
        try:
            system, inner = pyarrow.fs.FileSystem.from_uri(
                path if "://" in path else str(Path(path).absolute())
            )
            found = ds.dataset(inner, filesystem=system, format=PARQUET).to_table(columns, filter=chosen)
        except FileNotFoundError:
            raise NoTables(f"{self.root} has no table {name}: {NEEDED}") from None
        except pa.ArrowInvalid as error:
            raise NoTables(f"{path} cannot be read ({error}): {NEEDED}") from error
        except OSError as error:
            raise NoTables(f"{error}; check the folder and, for s3://, the AWS credentials") from error
        return [{name: _with_zone(value) for name, value in row.items()} for row in found.to_pylist()]

    def by_batch(self, name: str, ids: Collection[str]) -> Mapping[str, list[Row]]:
        """Return the rows of some batches, by batch."""
        found: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self.rows(name, ids):
            found[row["batch_id"]].append(row)
        return found


OF_ALL = ["batch_id", "state", "is_orphan", "acked", "failed", "healed", "outstanding", "opened_at"]
"""The columns that are read of every batch, for the figures of the whole history."""


def collect(folder: str) -> History:
    """Return the facts of the report over the tables in *folder*. Raises NoTables."""
    shelf = Shelf(folder)
    (archive,) = shelf.rows("archive")
    known = shelf.rows("batches", columns=OF_ALL)
    return History(
        archive=archive["path"],
        since=archive["since"],
        until=archive["until"],
        repeats=_repeats(shelf.rows("deliveries")),
        batches=_batches(shelf, [row["batch_id"] for row in sorted(known, key=_order)[:LISTED]]),
        targets=sorted(shelf.rows("targets"), key=lambda row: (-row["tasks"], row["target"])),
        sizes=sorted((row["size"], row["bundles"]) for row in shelf.rows("sizes")),
        queues=sorted(shelf.rows("queues"), key=lambda row: (-row["jobs"], row["queue"])),
        **_totals(known),
    )


def step_of(seconds: float) -> float:
    """Return the width in seconds of the time steps of a curve over *seconds*."""
    return float(next((step for step in STEPS if seconds / step <= BUCKETS), seconds / BUCKETS))


def _totals(known: Sequence[Row]) -> dict[str, int]:
    return {
        "known": len(known),
        "ended": sum(row["state"] not in (*ALIVE, "UNKNOWN") for row in known),
        "completed": sum(row["state"] == ENDED_WELL and not row["outstanding"] for row in known),
        "enough": sum(row["state"] == ENDED_WELL and bool(row["outstanding"]) for row in known),
        "orphans": sum(bool(row["is_orphan"]) for row in known),
        "items": sum(row["acked"] for row in known),
        "failed": sum(row["failed"] or 0 for row in known),
        "healed": sum(row["healed"] for row in known),
    }


def _order(row: Row) -> tuple[int, float, str]:
    """Return the sort key of a batch: items left behind, under way, with failures, others; newest first."""
    opened = row["opened_at"].timestamp() if row["opened_at"] else 0.0
    if row["is_orphan"] or row["state"] == "UNKNOWN":
        rank = 0
    elif row["state"] in ALIVE:
        rank = 1
    else:
        rank = 2 if row["failed"] or row["state"] != ENDED_WELL else 3
    return rank, -opened, row["batch_id"]


def _batches(shelf: Shelf, ids: list[str]) -> list[BatchFacts]:
    """Return the batches with these *ids*, in their order; the first ones with the data of their charts."""
    rows = {row["batch_id"]: row for row in shelf.rows("batches", ids)}
    shares, tails = shelf.by_batch("latencies", ids), shelf.by_batch("tails", ids)
    found = [_batch(rows[batch_id], shares[batch_id], tails[batch_id]) for batch_id in ids]
    return [*_drawn(shelf, found[:DRAWN]), *found[DRAWN:]]


def _batch(row: Row, shares: list[Row], tails: list[Row]) -> BatchFacts:
    """Return the facts of a batch with its latencies, preferably those from the times of its messages."""
    facts = {name: value for name, value in row.items() if name in FACTS} | {"failed": row["failed"] or 0}
    ordered = sorted(shares, key=lambda each: each["basis"] != "sent")
    best = Shares(**{field.name: ordered[0][field.name] for field in fields(Shares)}) if ordered else None
    return BatchFacts(**facts, shares=best, tail_at=tails[0]["tail_at"] if tails else None)


def _drawn(shelf: Shelf, batches: Sequence[BatchFacts]) -> list[BatchFacts]:
    ids = [batch.batch_id for batch in batches]
    seconds, bars = shelf.by_batch("throughput", ids), shelf.by_batch("histogram", ids)
    late, reasons = shelf.by_batch("stragglers", ids), shelf.by_batch("reasons", ids)
    repeats = shelf.by_batch("deliveries", ids)
    return [
        replace(
            batch,
            is_drawn=True,
            step=step_of(batch.acking or 0.0),
            curve=_curve(seconds[batch.batch_id], batch),
            bars=_bars(bars[batch.batch_id], batch.shares),
            stragglers=sorted(late[batch.batch_id], key=_lateness)[:NAMED],
            repeats=_repeats(repeats[batch.batch_id]),
            **_reasons(reasons[batch.batch_id]),
        )
        for batch in batches
    ]


def _curve(seconds: Iterable[Row], batch: BatchFacts) -> list[Point]:
    """Return the acks of a batch by time step."""
    step = step_of(batch.acking or 0.0)
    sums: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
    for row in seconds:
        since = (row["second"] - batch.first_ack_at).total_seconds()
        stretch = sums[since // step * step]
        stretch[0] += row["acked"]
        stretch[1] += row["failed"]
    return [Point(at, acked, failed) for at, (acked, failed) in sorted(sums.items())]


def _bars(rows: Iterable[Row], shares: Shares | None) -> list[Bar]:
    chosen = [row for row in rows if shares and row["basis"] == shares.basis]
    return [Bar(row["low"], row["high"], row["items"]) for row in sorted(chosen, key=lambda row: row["bin"])]


def _lateness(row: Row) -> tuple[float, int]:
    return -row["after"], row["position"] or 0


def _reasons(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the reasons of the ack log if there is one, else the sample that the batch keeps."""
    from_log = any(row["source"] == "log" for row in rows)
    chosen = [(row["reason"], row["items"]) for row in rows if (row["source"] == "log") == from_log]
    ordered = sorted(chosen, key=lambda each: (-each[1], each[0]))
    return {"reasons": ordered[:NAMED], "reasons_from_log": from_log}


def _repeats(rows: Sequence[Row]) -> Repeats | None:
    if not rows:
        return None
    return Repeats(sum(row["acks"] for row in rows), sum(row["duplicates"] for row in rows))


def _with_zone(value: Any) -> Any:
    """Return a time with its zone, UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
