"""The parser that every job's own options are added to, and the types of shared options."""

from __future__ import annotations

import argparse
import os

from fanin.tracker.reads.window import WINDOW_MAX


def job_parser(name: str, description: str | None, dry_run: str | None = None) -> argparse.ArgumentParser:
    """Return a parser for the job *name* with the options of every job.

    *description*: the text of ``--help``, the job's module docstring. *dry_run*: what ``--dry-run`` does;
    without it the job has no such option.
    """
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(
        name, description=description, formatter_class=form, parents=[_every_job(dry_run)]
    )


def _every_job(dry_run: str | None) -> argparse.ArgumentParser:
    parent = argparse.ArgumentParser(add_help=False)
    add = parent.add_argument_group("options of every job").add_argument
    add("--cores", default="*", help="cores to use if no cluster runs the job (default: all)")
    add("--json", action="store_true", help="print events as JSON lines")
    if dry_run:
        add("--dry-run", action="store_true", help=dry_run)
    return parent


def cores_of(asked: str) -> int:
    """Return the number of cores that the option ``--cores`` asks for."""
    if asked != "*":
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def positive(text: str) -> float:
    """Return *text* as a number above 0, for a rate or a duration."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return number


def chunk_size(text: str) -> int:
    """Return *text* as the number of rows of a message."""
    number = int(text)
    if not 1 <= number <= WINDOW_MAX:
        raise argparse.ArgumentTypeError(f"expected 1 to {WINDOW_MAX} rows, got {text}")
    return number
