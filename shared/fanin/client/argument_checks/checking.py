"""Checks of the client's arguments, made before anything is sent; each raises InvalidRequest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard
from uuid import uuid4

from fanin.arguments import Seconds, kind_of, seconds_of, text, text_or_none, whole
from fanin.client.argument_checks.naming import named_as_arguments
from fanin.client.argument_checks.reasons import fitting, reason_of
from fanin.client.items import Items
from fanin.client.transports.transport import Transport
from fanin.errors import InvalidRequest
from fanin.result_texts import result_text
from fanin.tracker import TOTAL_MAX, Ack, ItemId, Outcome, State, checked_batch_id
from fanin.tracker.reads.mapping import CELLS_MAX
from fanin.tracker.reads.progress_tokens import LIFETIME_MAX
from fanin.tracker.reads.window import WINDOW_MAX
from fanin.user_functions import synchronous

PRIORITY_MAX = 999
PAGE_BITS = (2, 1024)
LISTED = tuple(state for state in State if state is not State.EXPIRED)
_KEY_FORM = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?")


def key_or_fresh(given: str | None) -> str:
    """Return the idempotency key of a call: *given*, or a new one."""
    if given is None:
        return str(uuid4())
    if not isinstance(given, str) or not _KEY_FORM.fullmatch(given):
        raise InvalidRequest("an idempotency key is 1 to 128 printable ASCII characters", field="key")
    return given


def listed_ids(items: Iterable[str | ItemId], call: str) -> Iterable[ItemId]:
    """Return the ids of *items*; refuse a single id, of which the characters would be taken, and no list."""
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes, Mapping, ItemId)):
        raise InvalidRequest(f"{call} takes a list of item ids: {call}([item_id])", field="items")
    return map(listed_id, items)


def listed_id(item: str | ItemId) -> ItemId:
    """Return the id of *item*."""
    if isinstance(item, Items):
        raise InvalidRequest("a list of ranges is for ack_ranges and fail_ranges", field="items")
    if not isinstance(item, (str, ItemId)):
        raise InvalidRequest(f"an item id is a text, not {kind_of(item)}", field="items")
    return ItemId.parse(str(item), "items")


def acks_with_results(
    items: Iterable[ItemId], caller: str, results: Mapping[str, Any] | Sequence[Any] | None
) -> list[Ack]:
    """Return an ack of each item with its result: by its id, or the one at its place in a list.

    An item that a mapping lacks has no result.
    """
    ids = list(items)
    if results is None:
        return [Ack.of(item, caller) for item in ids]
    values = _by_id(ids, results) if isinstance(results, Mapping) else results
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        text = f"results are a dict by item id, or a list of one for each item, not {kind_of(results)}"
        raise InvalidRequest(text, field="results")
    if len(values) != len(ids):
        raise InvalidRequest(f"there are {len(values):,} results for {len(ids):,} items", field="results")
    acks = [_with_result(item, value, caller) for item, value in zip(ids, values, strict=True)]
    known: dict[ItemId, str | None] = {}
    for item, ack in zip(ids, acks, strict=True):
        if ack.result is not None and known.setdefault(item, ack.result) != ack.result:
            raise InvalidRequest(f"item {item} is named twice, with different results", field="results")
    return acks


def _with_result(item: ItemId, value: Any, caller: str) -> Ack:
    """Return the ack of *item* with its result. Raises InvalidRequest, which names the item."""
    try:
        return replace(Ack.of(item, caller), result=result_text(value))
    except InvalidRequest as refused:
        raise InvalidRequest(f"item {item}: {refused}", field="results") from None


def _by_id(ids: Sequence[ItemId], results: Mapping[str, Any]) -> Sequence[Any]:
    """Return the results in the order of *ids*; None for an item without one."""
    found = {str(item): result for item, result in results.items()}
    names = [str(item) for item in ids]
    if others := found.keys() - set(names):
        raise InvalidRequest(f"results has {min(others)!r:.130}, which is none of the items", field="results")
    return [found.get(name) for name in names]


def is_range(items: Any) -> TypeGuard[Items]:
    """Return whether *items* are one range of a group, without gaps."""
    return isinstance(items, Items) and items.indexes.step == 1


def listed_ranges(ranges: Items | Iterable[Items], call: str) -> Iterable[Items]:
    """Return the ranges that are not empty; a single range is a list of one."""
    if not isinstance(ranges, Iterable) or isinstance(ranges, (str, bytes, Mapping)):
        raise InvalidRequest(f"{call} takes a range or a list of them: {call}([items])", field="ranges")
    listed = [ranges] if isinstance(ranges, Items) else ranges
    return (items for items in map(listed_range, listed) if items)


def listed_range(items: Items) -> Items:
    """Return *items*, a range."""
    if not isinstance(items, Items):
        raise InvalidRequest(
            f"a range is Items, as add or outstanding returns them, not {kind_of(items)}; ack takes ids",
            field="ranges",
        )
    return items


def asked_range(items: Items) -> Items:
    """Return *items*, a range that one request shows."""
    if len(listed_range(items)) > WINDOW_MAX:
        raise InvalidRequest(f"one call asks for at most {WINDOW_MAX} items", field="items")
    return items


def ranged(items: Items, caller: str, outcome: Outcome = Outcome.SUCCESS, reason: str | None = None) -> Ack:
    """Return one ack of all *items*."""
    indexes = items.indexes
    if indexes.step != 1:
        raise InvalidRequest("a range of items has no gaps; ack the others one by one", field="ranges")
    return Ack(items.batch_id, items.group_id, indexes[0], indexes[-1], caller, outcome, reason)


def state_of(state: State | str) -> State:
    """Return *state*, given as a State or by its name; EXPIRED is in no list."""
    if not isinstance(state, str) or state not in LISTED:
        raise InvalidRequest(f"batches are listed in a state of {', '.join(LISTED)}", field="state")
    return State(state)


def window_of(cells: int, start: int, stop: int | None) -> tuple[int, int, int | None]:
    """Return the arguments of a map: 1 to 1,024 cells of the items *start* to *stop*, which is exclusive."""
    cells, start = whole(cells, "cells", 1, CELLS_MAX), whole(start, "start", 0, TOTAL_MAX - 1)
    return cells, start, None if stop is None else whole(stop, "stop", start + 1, TOTAL_MAX)


def token_seconds(expires: Seconds) -> int:
    """Return the lifetime of a token, 1 second to 7 days, in whole seconds."""
    most = int(LIFETIME_MAX.total_seconds())
    return whole(int(seconds_of(expires, "expires", most)), "expires", 1, most)


def reason_given(reason: str | BaseException | None) -> str | None:
    """Return *reason*, or an exception's type and text, on one line of at most 512 characters.

    None if it is empty.
    """
    if isinstance(reason, BaseException):
        return reason_of(reason)
    return fitting(text_or_none(reason, "a reason", "reason") or "")


def batch_id_given(batch_id: str) -> str:
    """Return *batch_id*, in the form of one."""
    with named_as_arguments():
        return checked_batch_id(text(batch_id, "a batch id", "batch_id"))


def json_value(payload: Any) -> Any:
    """Return *payload*, a JSON value."""
    try:
        json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"a payload is a JSON value: {error}", field="payload") from error
    return payload


def options_given(item_id: Any, on_acked: Any, margin_seconds: Seconds, fail_after: int | None) -> float:
    """Refuse options of a consumer that have the wrong type; return the margin in seconds."""
    synchronous(item_id, "item_id")
    synchronous(on_acked, "on_acked")
    if fail_after is not None:
        whole(fail_after, "fail_after", 1, TOTAL_MAX)
    return seconds_of(margin_seconds, "margin_seconds")


def transport_given(transport: Transport) -> Transport:
    """Return *transport*, an object with the methods of a Transport."""
    if not callable(getattr(transport, "ack", None)):
        raise InvalidRequest("pass the API's URL, or a transport", field="to")
    return transport
