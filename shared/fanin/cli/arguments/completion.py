"""Completes BATCH from the user keys of live batches; none without an answer in a second."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress

import typer

from fanin.cli.arguments.api import Api
from fanin.cli.arguments.where import WHERE_OPTIONS, Where
from fanin.client.http_bodies import documents

SECONDS = 1.0
LIMIT = 100
LIVE = ("OPEN", "CLOSED")
UNQUOTED = re.compile(r"[\w@%+=/.,][\w@%+=/.,:-]*")
"""A user key that needs no quotes: shells insert a completion as it is, and others choose user keys."""


def batch_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the plain user keys of live batches that begin with *incomplete*; none for any error."""
    where = Where(**{option: ctx.params.get(option) for option in WHERE_OPTIONS})
    found = within(SECONDS, lambda: _live_keys(where, incomplete))
    return [key for key in found if key.startswith(incomplete) and UNQUOTED.fullmatch(key)]


def within(seconds: float, find: Callable[[], list[str]]) -> list[str]:
    """Return what *find* returns, or nothing if it takes longer or fails; the thread is left."""
    found: list[str] = []

    def run() -> None:
        with suppress(Exception):  # a shell shows nothing else
            found.extend(find())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return list(found)


def _live_keys(where: Where, prefix: str) -> list[str]:
    api = Api(where.site().transport(attempts=1, read_seconds=SECONDS))
    query = {"userKeyPrefix": prefix or None, "limit": str(LIMIT)}
    found: dict[str, None] = {}
    for state in LIVE:
        page = api.get("/v1/batches", documents.summaries_of, state=state, **query).value
        found |= dict.fromkeys(batch.user_key for batch in page.batches if batch.user_key)
    return list(found)
