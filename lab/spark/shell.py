"""bulk_ack as from a shell, over answers made before: ``python -m lab.spark.shell FOLDER [options]``.

The last line is the CPU of all processes from their start on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab.spark.inputs import TENANT, read_logs
from lab.spark.tables import AnsweredTables
from lab.spark.usage import cpu_seconds
from pipeline.jobs import bulk_ack
from pipeline.table_frames import options as naming
from pipeline.table_frames.tables import Tables


def main() -> None:
    folder, *own = sys.argv[1:]
    logs = read_logs(Path(folder) / "logs")

    def answered(options: argparse.Namespace) -> Tables:  # noqa: ARG001 - it has the signature of the other
        return AnsweredTables("batches", "pages", "eu-west-1", batch=logs.batch)

    naming.named_tables = answered
    tables = ["--tenant", TENANT, "--batches-table", "batches", "--pages-table", "pages"]
    bulk_ack.main([str(logs.folder), *tables, "--rejects", str(Path(folder) / "rejects"), *own])
    print(cpu_seconds())


if __name__ == "__main__":
    main()
