"""``fanin report``: the tables of the Spark job ``history`` as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanin.cli.terminal.exits import Refused
from fanin.cli.terminal.output import Output
from fanin.cli.verbs import Json, VerbCommand

Folder = Annotated[
    str, typer.Argument(metavar="FOLDER", help="The job's --out: a path, or s3://BUCKET/PATH.")
]
Out = Annotated[Path, typer.Option("--out", metavar="PAGE", help="The file to write.")]


def report(folder: Folder, out: Out = Path("report.html"), as_json: Json = False) -> None:
    """Write the HTML page of a folder of the Spark job history.

    Prints its path. The page loads nothing, so it can be opened anywhere. An earlier one is replaced.
    """
    try:
        from fanin.history_report import page  # noqa: PLC0415  # of an extra, and with matplotlib it takes a second
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("fanin"):
            raise
        raise Refused(f"fanin report needs {missing.name}: pip install 'fanin[report]'") from None
    out.write_text(page(folder), encoding="utf-8")
    Output(as_json).value({"page": str(out)}, str(out))


def add_to(app: typer.Typer) -> None:
    """Make it a command of *app*."""
    app.command(cls=VerbCommand)(report)
