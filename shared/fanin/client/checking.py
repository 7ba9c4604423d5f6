"""What callers hand over, checked before anything is sent: each refusal says what is wanted instead."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from datetime import timedelta
from uuid import uuid4

from fanin.client.items import Items
from fanin.errors import InvalidRequest
from fanin.tracker import TOTAL_MAX, Ack, ItemId, Mode, Outcome, Retention, State
from fanin.tracker.model import LIFE_MAX

SECOND = timedelta(seconds=1)
LISTED = tuple(state for state in State if state is not State.EXPIRED)
_KEY_FORM = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?")


def key_or_fresh(given: str | None) -> str:
    """The idempotency key of a logical call: the caller's own, or a fresh one."""
    if given is None:
        return str(uuid4())
    if not _KEY_FORM.fullmatch(given):
        raise InvalidRequest(
            "an idempotency key is 1 to 128 printable ASCII characters", field="Idempotency-Key"
        )
    return given


def listed_ids(items: Iterable[str | ItemId], call: str) -> Iterable[str | ItemId]:
    """*items*, unless they are a single one: a text would be taken letter by letter."""
    if isinstance(items, (str, ItemId)):
        raise InvalidRequest(f"{call} takes a list of item ids: {call}([item_id])", field="items")
    return items


def listed_ranges(ranges: Iterable[Items], call: str) -> Iterable[Items]:
    """*ranges*, unless they are a single one, or the ids of one."""
    if isinstance(ranges, (Items, str)):
        raise InvalidRequest(f"{call} takes a list of ranges: {call}([items])", field="ranges")
    return ranges


def ranged(items: Items, caller: str, outcome: Outcome = Outcome.SUCCESS, reason: str | None = None) -> Ack:
    """The one ack of all *items*."""
    if not isinstance(items, Items):
        raise InvalidRequest(
            "a range is Items, as add or outstanding gave them; ack takes ids", field="ranges"
        )
    indexes = items.indexes
    if indexes.step != 1:
        raise InvalidRequest("a range of items has no gaps; ack the others one by one")
    return Ack(items.batch_id, items.group_id, indexes[0], indexes[-1], caller, outcome, reason)


def mode_of(mode: Mode | str) -> Mode:
    """*mode*, also by its name."""
    if mode not in set(Mode):
        raise InvalidRequest("a mode is exact or estimated", field="mode")
    return Mode(mode)


def state_of(state: State | str) -> State:
    """*state*, also by its name, where batches are listed in it."""
    if state not in LISTED:
        raise InvalidRequest(f"batches are listed in a state of {', '.join(LISTED)}", field="state")
    return State(state)


def counted(count: int | None, name: str, least: int) -> int | None:
    """*count*, from *least* on, where it is given."""
    if count is not None and not least <= operator.index(count) <= TOTAL_MAX:
        raise InvalidRequest(f"{name} goes from {least} to {TOTAL_MAX}", field=name)
    return count


def deadline_of(deadline: timedelta | None) -> timedelta | None:
    """*deadline*, in whole seconds, where it is given."""
    if deadline is None:
        return None
    if not isinstance(deadline, timedelta):
        raise InvalidRequest("a deadline is a timedelta, such as timedelta(hours=1)", field="deadline")
    if not SECOND <= deadline <= LIFE_MAX or deadline % SECOND:
        raise InvalidRequest("a deadline is whole seconds, from 1 second to 400 days", field="deadline")
    return deadline


def retention_of(retention: Retention | None) -> Retention:
    """*retention*, or the usual one."""
    if retention is not None and not isinstance(retention, Retention):
        raise InvalidRequest(
            "a retention is a Retention, such as Retention(complete=timedelta(days=1))", field="retention"
        )
    return retention or Retention()
