"""The arguments and options that several verbs have."""

from __future__ import annotations

from typing import Annotated

import typer

from fanin.cli.completion import batch_names

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
        help="Names the request: repeated with it, it has no further effect.",
    ),
]
