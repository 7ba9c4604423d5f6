"""The names of batches on a command line: BATCH is an id, or a user key, which is its newest batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from itertools import islice

from fanin.cli.arguments.api import Api
from fanin.cli.terminal.exits import Refused, UsageError
from fanin.client.http_bodies import documents
from fanin.client.model import Summary
from fanin.client.transports.batch_names import PAGES, is_batch_id, looked_up, newest_of
from fanin.errors import AccessDenied, Conflict
from fanin.tracker.rules.model import ALIVE
from fanin.tracker.rules.options import USER_KEY

__all__ = ["BatchNames", "is_batch_id"]

NEWEST = 100
"""Batches of a user key that are looked at."""
NAMES = 1_000
"""User keys whose batches are remembered."""


class BatchNames:
    """Finds the ids of batches by their names; a user key with two live batches is refused."""

    def __init__(self, api: Callable[[], Api], pause: Callable[[float], None] = time.sleep) -> None:
        self._api, self._pause = api, pause
        self._cached = lru_cache(NAMES)(self._newest)

    def id_of(self, name: str) -> str:
        """Return the id of the batch *name*: itself, or the newest of the user key. Raises NotFound."""
        return name if is_batch_id(name) else self._cached(name)

    def live(self, user_key: str) -> list[Summary]:
        """Return the live batches of *user_key*; none if the caller may not list batches."""
        with suppress(AccessDenied):
            return [batch for batch in self._of_key(user_key) if batch.state in ALIVE]
        return []

    def _newest(self, user_key: str) -> str:
        if not USER_KEY.form.fullmatch(user_key):
            raise UsageError(f"BATCH is an id or a user key, and {USER_KEY.otherwise}")
        try:
            return newest_of(user_key, looked_up(lambda: self._of_key(user_key), self._pause))
        except Conflict as error:
            raise Refused(str(error)) from None

    def _of_key(self, user_key: str) -> list[Summary]:
        """Return batches of *user_key*, newest first: those of the first page that has any."""
        pages = self._api().pages("/v1/batches", documents.summaries_of, userKey=user_key, limit=str(NEWEST))
        return next((list(page.value.batches) for page in islice(pages, PAGES) if page.value.batches), [])
