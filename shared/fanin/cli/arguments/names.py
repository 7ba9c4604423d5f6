"""The names of batches on a command line: BATCH is an id, or a user key, which is its newest batch."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

from fanin.cli.arguments.api import Api
from fanin.cli.terminal.exits import Refused
from fanin.client.model import Summary
from fanin.client.wire import documents
from fanin.errors import NotFound
from fanin.tracker.rules.model import ALIVE

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_BATCH_ID = re.compile(_UUID)
NEWEST = 100
"""Batches of a user key that are looked at."""
PAGES = 20
"""Pages of a list that are read for them: expired batches leave pages empty."""
PAUSES = (0.1, 0.2, 0.4)
"""Seconds before the next looks for a user key that is not found; chance adds up to as much."""
NAMES = 1_000
"""User keys whose batches are remembered."""


def is_batch_id(text: str) -> bool:
    """Return whether *text* has the form of a batch id; all else is a user key."""
    return _BATCH_ID.fullmatch(text) is not None


class BatchNames:
    """Finds the ids of batches by their names.

    *for_write*: a user key with two live batches is refused, because the newest may not be the one meant.
    A key that is not found is looked for again: the list of a key shows a new batch after up to a second.
    """

    def __init__(
        self, api: Callable[[], Api], for_write: bool, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._api, self._for_write, self._pause = api, for_write, pause
        self._cached = lru_cache(NAMES)(self._newest)

    def id_of(self, name: str) -> str:
        """Return the id of the batch *name*: itself, or the newest of the user key. Raises NotFound."""
        return name if is_batch_id(name) else self._cached(name)

    def _newest(self, user_key: str) -> str:
        found = self._of_key(user_key)
        for seconds in PAUSES:
            if found:
                break
            self._pause(seconds * (1 + random.random()))
            found = self._of_key(user_key)
        if not found:
            raise NotFound(f"there is no batch with the user key {user_key!r}; `fanin list` prints all")
        live = [batch for batch in found if batch.state in ALIVE]
        if self._for_write and len(live) > 1:
            ids = ", ".join(f"{batch.batch_id} ({batch.state})" for batch in live[:3])
            more = " and more" if len(live) > 3 else ""
            raise Refused(
                f"{len(live)} live batches have the user key {user_key!r}: {ids}{more}; give the id"
            )
        return found[0].batch_id

    def _of_key(self, user_key: str) -> list[Summary]:
        """Return batches of *user_key*, newest first: those of the first page that has any."""
        pages = self._api().pages("/v1/batches", documents.summaries_of, userKey=user_key, limit=str(NEWEST))
        return next((list(page.value.batches) for page in islice(pages, PAGES) if page.value.batches), [])
