"""Says of every batch whether its pages, their parents and its state agree.

    python -m pipeline.jobs.audit --batches-export FOLDER --pages-export FOLDER [--out PATH]
    python -m pipeline.jobs.audit --batches-table NAME --pages-table NAME [--rate R]

What a write on its way could explain is looked at again in the live tables, where they are named, and is
reported if it is still there. The exit status is 1 where something is wrong, 0 otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fanin.tracker import checked_batch_id
from pipeline import options as shared
from pipeline.auditing import Wish, audit
from pipeline.failing import plainly
from pipeline.progress import Report, teller
from pipeline.session import spark_session

SENTENCES = {
    "looking": "  {findings:,} to be looked at again in the live tables",
    "finding": "{certainty}: {rule}: {place}: {detail}",
    "more": "and {findings:,} more; --out keeps them all",
    "audited": (
        "{batches:,} batches, {pages:,} pages as of {takenAt}: {wrong:,} wrong, {doubtful:,} that a write on"
        " its way may explain, {gone:,} gone when looked at again; {seconds:.1f} s"
    ),
}


def arguments() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("audit", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("--batch", metavar="ID", help="one batch alone (default: all)")
    add("--out", metavar="PATH", help="where the findings are saved, as Parquet")
    add("--cores", default="*", help="cores to use where no cluster runs the job (default: all)")
    add("--json", action="store_true", help="print events as JSON lines")
    shared.add_exports(parser)
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    shared.check_source(parser, options)
    with plainly("audit"):
        wrong = _run(options, teller(SENTENCES, options.json))
    if wrong:
        raise SystemExit(1)


def _run(options: argparse.Namespace, tell: Report) -> int:
    batch_id = checked_batch_id(options.batch) if options.batch else None
    tables = shared.tables_of(options)
    with spark_session("audit", cores=options.cores) as spark:
        told = shared.told_of(spark, options, batch_id)
        return audit(told, Wish(options.out, tables.store if tables else None), tell)


if __name__ == "__main__":
    main()
