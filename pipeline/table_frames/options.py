"""Job options that name the tracker's tables or exports of them."""

from __future__ import annotations

import argparse

from pipeline.shared_by_jobs.arguments import positive
from pipeline.table_frames.tables import Tables


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the live tables."""
    add = parser.add_argument_group("the live tables").add_argument
    add("--batches-table", metavar="NAME", help="the table of batches")
    add("--pages-table", metavar="NAME", help="the table of pages")
    add("--region", help="the tables' region (default: the environment's)")
    add("--tables-endpoint-url", metavar="URL", help="the endpoint of DynamoDB (default: the region's)")


def add_exports(parser: argparse.ArgumentParser) -> None:
    """Add the options that name exports of the tables, and the rate of a Scan in their place."""
    add = parser.add_argument_group(
        "point-in-time exports, to be read in place of the live tables"
    ).add_argument
    add("--batches-export", metavar="FOLDER", help="an export of the table of batches, with its manifests")
    add("--pages-export", metavar="FOLDER", help="an export of the table of pages")
    parser.add_argument(
        "--rate", type=positive, metavar="R", help="read at most R read units a second of live tables"
    )


def check_source(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a message unless both tables are named: both exports, or both live tables."""
    exports, tables = _both(options, "export"), _both(options, "table")
    if len(exports) == 1 or len(tables) == 1 or not exports + tables:
        parser.error(
            "name both tables: --batches-export and --pages-export, or --batches-table and --pages-table"
        )


def tables_of(options: argparse.Namespace) -> Tables | None:
    """Return the live tables that are named, or None."""
    return named_tables(options) if _both(options, "table") else None


def named_tables(options: argparse.Namespace) -> Tables:
    """Return the live tables, whose names the parser has checked."""
    return Tables(options.batches_table, options.pages_table, options.region, options.tables_endpoint_url)


def exports_of(options: argparse.Namespace) -> list[str]:
    """Return the folders of the exports that are named."""
    return _both(options, "export")


def _both(options: argparse.Namespace, kind: str) -> list[str]:
    named = (getattr(options, f"{table}_{kind}") for table in ("batches", "pages"))
    return [name for name in named if name]
