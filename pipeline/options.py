"""Options that several jobs take, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipeline import pages
from pipeline.pages import Told
from pipeline.tables import Tables


def positive(text: str) -> float:
    """A number above 0, as a rate or a span is."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"it takes a number above 0, not {text}")
    return number


def add_tables(parser: argparse.ArgumentParser) -> None:
    """The options that name the live tables."""
    add = parser.add_argument_group("the live tables").add_argument
    add("--batches-table", metavar="NAME", help="the table of batches")
    add("--pages-table", metavar="NAME", help="the table of pages")
    add("--region", help="the tables' region (default: the environment's)")
    add("--tables-endpoint-url", metavar="URL", help="the endpoint of DynamoDB (default: the region's)")


def add_exports(parser: argparse.ArgumentParser) -> None:
    """The options that name exports of the tables, and how the live ones are read in their place."""
    add = parser.add_argument_group(
        "point-in-time exports, to be read in place of the live tables"
    ).add_argument
    add("--batches-export", metavar="FOLDER", help="an export of the table of batches, with its manifests")
    add("--pages-export", metavar="FOLDER", help="an export of the table of pages")
    parser.add_argument(
        "--rate", type=positive, metavar="R", help="read at most R read units a second of live tables"
    )


def check_source(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Leave with a message unless both tables are named once: both exports, or both live tables."""
    exports, tables = _both(options, "export"), _both(options, "table")
    if len(exports) == 1 or len(tables) == 1 or not exports + tables:
        parser.error(
            "name both tables: --batches-export and --pages-export, or --batches-table and --pages-table"
        )


def tables_of(options: argparse.Namespace) -> Tables | None:
    """The live tables that are named; None where none are."""
    if not _both(options, "table"):
        return None
    return Tables(options.batches_table, options.pages_table, options.region, options.tables_endpoint_url)


def told_of(spark: SparkSession, options: argparse.Namespace, batch_id: str | None = None) -> Told:
    """What the source that is named says, of one batch or of all: the exports, where there are any."""
    exports, tables = _both(options, "export"), tables_of(options)
    if exports or tables is None:
        return pages.from_exports(spark, exports, batch_id)
    return pages.from_tables(spark, tables, batch_id, options.rate)


def _both(options: argparse.Namespace, kind: str) -> Sequence[str]:
    named = (getattr(options, f"{table}_{kind}") for table in ("batches", "pages"))
    return [name for name in named if name]
