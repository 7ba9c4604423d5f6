"""The verb open, whose options are those of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fanin.cli.arguments.options import Key
from fanin.cli.batches.options import checked, given_options, parameters
from fanin.cli.terminal.exits import Refused
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies import documents
from fanin.client.model import Summary
from fanin.tracker.rules.options import OPTIONS

verb = Verbs()

UserKey = Annotated[str | None, typer.Argument(metavar="KEY", help="Your name for the batch.")]
Again = Annotated[bool, typer.Option("--again", help="Also if KEY names a live batch.")]


@verb("open", writes=True, options=parameters(OPTIONS))
def open_(
    call: Invocation, user_key: UserKey = None, again: Again = False, key: Key = None, **options: Any
) -> None:
    """Open a batch and print its id.

    A KEY that names a live batch is refused, unless --again or --idempotency-key is given.
    """
    body = documents.open_body(checked(user_key, given_options(call, options)))
    if user_key and not again and key is None:
        _refuse_live(user_key, call.names.live(user_key))
    answer = call.create("/v1/batches", body, documents.batch_id_of, key)
    call.output.value(answer.document, answer.value)


def _refuse_live(user_key: str, live: Sequence[Summary]) -> None:
    """Raise Refused if *user_key* names *live* batches: by the key none of two could be chosen."""
    if live:
        found = ", ".join(f"{batch.batch_id} ({batch.state})" for batch in live)
        ended = f"end it (fanin close or cancel {live[0].batch_id})"
        raise Refused(
            f"{user_key!r} names a live batch already: {found}; go on with it, {ended}, or give --again"
        )
