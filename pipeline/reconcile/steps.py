"""The steps of reconcile that do not depend on its engine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime

from pipeline.reconcile.rules import CannotReconcile, Label, Part, ReconcileRequest, part_of
from pipeline.shared_by_jobs.output import is_committed
from pipeline.shared_by_jobs.progress import Report
from pipeline.table_frames.rows import Facts

_REPORTED = {"batchId": "batch_id", "state": "state", "items": "total", "failed": "failed"}
"""What is reported of a batch; never its salt."""


def report_batch(batch: Facts, taken_at: datetime, report: Report) -> None:
    """Report the batch as it was at *taken_at*."""
    facts = {name: batch[column] for name, column in _REPORTED.items()}
    report("batch", {**facts, "takenAt": taken_at.isoformat()})


def require_manifest(path: str) -> None:
    """Raise CannotReconcile unless a manifest is committed at *path*."""
    if not is_committed(path):
        raise CannotReconcile(f"no manifest is committed at {path}")


def labelled_part(
    batch: Facts, rows: int, request: ReconcileRequest, taken_at: datetime
) -> tuple[Part, Label]:
    """Return the group of the *rows* of the manifest, and the label of its items. Raises CannotReconcile."""
    part = part_of(batch, rows, request.group_id)
    named = part.batch_id, part.group_id, part.page_bits
    return part, Label(batch["tenant"], *named, taken_at.isoformat(), request.source)


def report_saved(counts: Mapping[str, int], rows: int, path: str, started: float, report: Report) -> None:
    """Report how many of *rows* items were saved at *path*, since the monotonic time *started*."""
    report("saved", {**counts, "rows": rows, "path": path, "seconds": round(time.monotonic() - started, 3)})
