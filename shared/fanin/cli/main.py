"""The command ``fanin``; also ``python -m fanin.cli.main``."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Annotated

try:
    import typer

    from fanin.cli import local, publish, work
except ModuleNotFoundError as missing:
    sys.exit(f"fanin needs {missing.name}: pip install 'fanin[cli]'")

app = typer.Typer(help="fanin: says, exactly once, when all N messages are done.", no_args_is_help=True)
app.add_typer(local.app, name="local")
app.command()(publish.publish)
local.app.command()(work.work)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"fanin {metadata.version('fanin')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options of the command itself."""


if __name__ == "__main__":
    app()
