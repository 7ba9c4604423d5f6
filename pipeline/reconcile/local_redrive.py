"""redrive in processes of this machine, without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fanin.cost import estimate as cost
from pipeline.engine_without_spark import pieces
from pipeline.engine_without_spark.listing import listed
from pipeline.engine_without_spark.pieces import Footer, Share
from pipeline.fan_out.arrow_files import in_order
from pipeline.fan_out.local import Sending, processes_of, run_sending, sending_of
from pipeline.fan_out.parts import SPARKS_SCHEMA
from pipeline.fan_out.send import Row, every_row
from pipeline.reconcile.local import SAVED
from pipeline.reconcile.resending import Fresh, RedriveRequest, linked, live_batch, reported
from pipeline.reconcile.rules import LABEL, CannotReconcile, Label
from pipeline.shared_by_jobs.output import is_committed
from pipeline.shared_by_jobs.progress import Report
from pipeline.table_frames.tables import Tables


class SavedRows(NamedTuple):
    """What reconcile saved: its label, and its pieces by their positions."""

    label: Label
    pieces: Share

    def count(self, failed: bool) -> int:
        """Return how many of its rows failed, or how many are outstanding."""
        rows = sum(piece.rows for piece in self.pieces)
        marked = sum(int(batch.column(0).true_count) for batch in pieces.read(self.pieces, ["failed"]))
        return marked if failed else rows - marked


@dataclass(frozen=True, slots=True)
class _SendTask:
    """Sends the failed rows of *share*, or the outstanding ones."""

    share: Share
    failed: bool


def load(path: str) -> SavedRows:
    """Return what reconcile committed to *path*. Raises CannotReconcile if nothing is there."""
    if not is_committed(path):
        raise CannotReconcile(f"nothing that reconcile saved is at {path}")
    found = pieces.footers([file.path for file in listed([path])], ["position"])
    about = _metadata(found)
    if LABEL not in about:
        raise CannotReconcile(f"{path} does not hold rows that reconcile saved")
    return SavedRows(Label(**json.loads(about[LABEL])), [piece for piece, _ in in_order(found, ["position"])])


def _metadata(found: Sequence[Footer]) -> dict[str, str]:
    """Return the metadata of the column *position*, as Spark keeps it."""
    schema = json.loads(found[0].metadata.get(SPARKS_SCHEMA.encode(), b"{}")) if found else {}
    fields = {field["name"]: field for field in schema.get("fields", [])}
    metadata: dict[str, str] = fields.get("position", {}).get("metadata", {})
    return metadata


def rows_of(share: Share, failed: bool) -> Iterator[pa.RecordBatch]:
    """Yield the failed rows of *share*, or the outstanding ones, ordered by position in each batch."""
    for batch in pieces.read(share, SAVED.names):
        of_pass = batch.column("failed") if failed else pc.invert(batch.column("failed"))
        yield batch.filter(of_pass).sort_by("position")


def redrive(tables: Tables, request: RedriveRequest, report: Report, cores: int) -> dict[str, int]:
    """Redrive *request*; return how many were sent, and how many had been acked since. Raises BatchIsOver."""
    saved = load(request.saved)
    batch = live_batch(tables, saved.label, report)
    request = linked(request, batch)
    shares = pieces.shares(saved.pieces, cores)
    processes = processes_of(cores, len(shares), [request.saved])
    sent: Counter[str] = Counter()
    for failed in request.passes:
        total = saved.count(failed)
        if not total:
            continue
        only = Fresh(tables, batch.key, saved.label.page_bits, failed) if request.fresh else every_row
        sending = sending_of(processes, request.queue, request.rate, request.chunk, only)
        tasks = [_SendTask(share, failed) for share in shares]
        sent.update(run_sending(processes, _send, tasks, sending, total, report))
    return reported(sent, report)


def preview(request: RedriveRequest) -> cost.Estimate:
    """Return the estimated cost of *request*. Sends nothing, and reads no table."""
    saved = load(request.saved)
    rows = chain.from_iterable(rows_of(saved.pieces, failed) for failed in request.passes)
    size = sum(int(pc.sum(pc.binary_length(each.column("record")), min_count=0).as_py()) for each in rows)
    return cost.estimate(sum(map(saved.count, request.passes)), size, request.chunk or 1)


def _send(task: _SendTask, sending: Sending) -> Counter[str]:
    return sending.send(_messages(task))


def _messages(task: _SendTask) -> Iterator[Row]:
    for rows in rows_of(task.share, task.failed):
        columns = (rows.column(name).to_pylist() for name in ("position", "item_id", "record"))
        for position, item_id, record in zip(*columns, strict=True):
            yield Row(position, 1, item_id, record)
