"""The names of batches: an id, or a user key, which is its newest batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from fanin.arguments import text
from fanin.client.http_bodies.paging import pages
from fanin.errors import Conflict, NotFound
from fanin.item_ids import UUID_FORM
from fanin.tracker.rules.model import ALIVE
from fanin.tracker.rules.options import USER_KEY

if TYPE_CHECKING:
    from fanin.client.model import Summary
    from fanin.client.transports.transport import Transport

PAGES = 20
"""Pages of a list that are read for a user key: expired batches leave pages empty."""
PAUSES = (0.1, 0.2, 0.4)
"""Seconds before the next looks for a user key that is not found; chance adds up to as much.

The list of a key shows a new batch after up to a second.
"""
SHOWN = 3


def is_batch_id(name: str) -> bool:
    """Return whether *name* has the form of a batch id; all else is a user key."""
    return UUID_FORM.fullmatch(name) is not None


def checked_name(name: str) -> str:
    """Return the *name* of a batch, an id or a user key. Raises InvalidRequest."""
    name = text(name, "the name of a batch", "batch")
    if not is_batch_id(name):
        USER_KEY.check(name, "batch")
    return name


def named_batch(transport: Transport, name: str, sleep: Callable[[float], None] | None) -> str:
    """Return the id of the batch *name*: itself, or the newest of the user key.

    *sleep*: waits for the list, which may be late; None if it never is. Raises NotFound, and Conflict if the
    key names two live batches.
    """
    if is_batch_id(checked_name(name)):
        return name
    return newest_of(name, looked_up(lambda: _of_key(transport, name), sleep))


def looked_up(
    look: Callable[[], Sequence[Summary]], sleep: Callable[[float], None] | None
) -> Sequence[Summary]:
    """Return the batches that *look* finds, which looks again where it finds none."""
    found = look()
    for seconds in PAUSES if sleep else ():
        if found or sleep is None:
            break
        sleep(seconds * (1 + random.random()))
        found = look()
    return found


def newest_of(user_key: str, found: Sequence[Summary]) -> str:
    """Return the id of the newest batch of a key. Raises NotFound, and Conflict for two live ones."""
    if not found:
        raise NotFound(f"there is no batch with the user key {user_key!r}; `fanin list` prints all")
    live = [batch for batch in found if batch.state in ALIVE]
    if len(live) > 1:
        ids = ", ".join(f"{batch.batch_id} ({batch.state})" for batch in live[:SHOWN])
        more = " and more" if len(live) > SHOWN else ""
        raise Conflict(f"{len(live)} live batches have the user key {user_key!r}: {ids}{more}; give the id")
    return found[0].batch_id


def _of_key(transport: Transport, user_key: str) -> Sequence[Summary]:
    """Return batches of *user_key*, newest first: those of the first page that has any."""
    from fanin.tracker import BatchFilter  # noqa: PLC0415  # `fanin` names batches without it

    listed = pages(lambda cursor: transport.batches(BatchFilter(user_key=user_key), cursor))
    return next((page.batches for page in islice(listed, PAGES) if page.batches), ())
