"""The arguments and options that several verbs have."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from fanin.cli.arguments.completion import batch_names

KEY = re.compile(r"[\x20-\x7e]{1,128}")


def checked_key(text: str | None) -> str | None:
    """Return an idempotency key as it is. Raises BadParameter for what no header takes."""
    if text is not None and not KEY.fullmatch(text):
        raise typer.BadParameter("a key has 1 to 128 printable ASCII characters")
    return text


Batch = Annotated[
    str,
    typer.Argument(
        metavar="BATCH",
        help="An id, or a user key: its newest batch.",
        autocompletion=batch_names,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        callback=checked_key,
        help="Names the request: repeated with it, it has no further effect.",
    ),
]
PortOfRun = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="PORT",
        help="The run on this port; else FANIN_URL's, or the one that `up` started, this checkout's first.",
    ),
]
