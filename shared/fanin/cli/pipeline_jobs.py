"""``fanin bulk-ack``, ``fan-out``, ``reconcile``: jobs of the pipeline, which parse their own arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from fanin.cli.terminal.exits import Refused
from fanin.cli.verbs import VerbCommand

PACKAGE = Path(__file__).resolve().parents[1]
IN_WHEEL = "pipeline_code"
"""The folder of this package that has the pipeline in an installed wheel; it is no package of Python."""


class JobCommand(VerbCommand):
    """A command that passes all its arguments on, ``--help`` too."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep *args* as they are."""
        ctx.args = list(args)
        return []


def bulk_ack(ctx: typer.Context) -> None:
    """Ack the items that logs list: Parquet, JSON lines or CSV.

    Its options: `fanin bulk-ack --help`; [more](pipeline.md).
    """
    job("bulk_ack")(ctx.args)


def fan_out(ctx: typer.Context) -> None:
    """Publish a dataset as the items of a batch, a message a row.

    Its options: `fanin fan-out --help`; [more](pipeline.md).
    """
    job("fan_out")(ctx.args)


def reconcile(ctx: typer.Context) -> None:
    """Save the rows of a fanned-out dataset whose items are outstanding.

    Its options: `fanin reconcile --help`; [more](pipeline.md).
    """
    job("reconcile")(ctx.args)


def job(name: str) -> Callable[[list[str]], Any]:
    """Return the command of the job *name*, which exits by itself. Raises Refused if a library is missing."""
    sys.path.insert(0, str(code_beside(PACKAGE)))
    try:
        main: Callable[[list[str]], Any] = import_module(f"pipeline.jobs.{name}").main
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] in ("fanin", "pipeline"):
            raise
        verb = name.replace("_", "-")
        raise Refused(f"fanin {verb} needs {missing.name}: pip install 'fanin[spark]'") from None
    return main


def code_beside(package: Path) -> Path:
    """Return the folder that has the pipeline: in a wheel in the *package*, in a clone above it."""
    installed = package / IN_WHEEL
    return installed if installed.is_dir() else package.parents[1]


def add_to(app: typer.Typer) -> None:
    """Make the jobs commands of *app*."""
    for run in (bulk_ack, fan_out, reconcile):
        app.command(run.__name__.replace("_", "-"), cls=JobCommand)(run)
