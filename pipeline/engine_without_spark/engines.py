"""Chooses the engine of a job: processes of this machine, or Spark."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.engine_without_spark.listing import NotListed
from pipeline.shared_by_jobs.check import has_cluster
from pipeline.shared_by_jobs.files import ListedFile

AUTO, LOCAL, SPARK = "auto", "local", "spark"
LOCAL_BYTES = 1 << 30
"""The most bytes of input that this machine takes without being asked."""
CHOSEN = {"engine": "engine: {engine} ({why})"}
"""The sentence of the event that says which engine runs."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--engine``."""
    parser.add_argument(
        "--engine",
        choices=(AUTO, LOCAL, SPARK),
        default=AUTO,
        help="local: processes of this machine, without Java; auto: local up to 1 GiB of input, unless a"
        " cluster runs the job (default: auto)",
    )


def choose(
    asked: str,
    files: Callable[[], Sequence[ListedFile]],
    refusals: tuple[type[Exception], ...] = (NotListed,),
) -> dict[str, Any]:
    """Return the *engine* for the input *files*, and *why*, as the facts of an event.

    *refusals*: what *files* raises where only Spark takes the input.
    """
    if asked != AUTO:
        return {"engine": asked, "why": "as asked"}
    if has_cluster():
        return {"engine": SPARK, "why": "a cluster runs the job"}
    try:
        size = sum(file.size for file in files())
    except refusals as error:
        return {"engine": SPARK, "why": str(error)}
    of = f"{size:,} bytes of input; local up to {LOCAL_BYTES:,}"
    return {"engine": LOCAL if size <= LOCAL_BYTES else SPARK, "why": of}
