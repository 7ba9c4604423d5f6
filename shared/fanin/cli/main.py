"""The command ``fanin``; also ``python -m fanin.cli.main``."""

from __future__ import annotations

import sys

try:
    import typer

    from fanin.cli import local
except ModuleNotFoundError as missing:
    sys.exit(
        f"fanin needs {missing.name}; install with: pip install 'fanin[local]'  (in a clone: make setup)"
    )

app = typer.Typer(help="fanin: says, exactly once, when all N messages are done.", no_args_is_help=True)
app.add_typer(local.app, name="local")

if __name__ == "__main__":
    app()
