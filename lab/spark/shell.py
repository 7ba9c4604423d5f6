"""A job as from a shell, over prepared answers of AWS: ``python -m lab.spark.shell JOB FOLDER [options]``.

*JOB*: bulk_ack, bulk_ack-cold, which uses no archive of classes, or fan_out to files. The last line is the
CPU of all processes from their start on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from lab.spark.inputs import TENANT, read_logs
from lab.spark.tables import AnsweredTables
from lab.spark.usage import cpu_seconds
from pipeline.jobs import bulk_ack, fan_out
from pipeline.shared_by_jobs import session
from pipeline.table_frames import options as naming
from pipeline.table_frames.tables import Tables

COLD = "bulk_ack-cold"


def main() -> None:
    job, folder, *own = sys.argv[1:]
    if job == COLD:
        session.CLASS_ARCHIVE = Path()
    {"bulk_ack": _bulk_ack, COLD: _bulk_ack, "fan_out": _fan_out}[job](Path(folder), own)
    print(cpu_seconds())


def _bulk_ack(folder: Path, own: Sequence[str]) -> None:
    logs = read_logs(folder / "logs")

    def answered(options: argparse.Namespace) -> Tables:  # noqa: ARG001 - it has the signature of the other
        return AnsweredTables("batches", "pages", "eu-west-1", batch=logs.batch)

    naming.named_tables = answered
    tables = ["--tenant", TENANT, "--batches-table", "batches", "--pages-table", "pages"]
    bulk_ack.main([str(logs.folder), *tables, "--rejects", str(folder / "rejects"), *own])


def _fan_out(folder: Path, own: Sequence[str]) -> None:
    def in_memory(*_: Any, **__: Any) -> Fanin:
        return Fanin(DirectTransport(Tracker(MemoryStore()), TENANT))

    setattr(fan_out, "Fanin", in_memory)  # noqa: B010 - it is imported there
    places = ["--dataset", str(folder / "data.parquet"), "--manifest", str(folder / "manifest")]
    fan_out.main([*places, "--files", str(folder / "messages"), "--api-url", "http://none", *own])


if __name__ == "__main__":
    main()
