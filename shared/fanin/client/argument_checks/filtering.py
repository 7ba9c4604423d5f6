"""Which batches are listed: the filter of a client's call, checked before anything is sent."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from fanin.arguments import one_of, text_or_none
from fanin.client.argument_checks.checking import state_of
from fanin.client.argument_checks.naming import named_as_arguments
from fanin.errors import InvalidRequest
from fanin.tracker import BatchFilter, State
from fanin.tracker.rules.filters import Condition
from fanin.types import ConditionText


class FilterOptions(TypedDict, total=False):
    """Which batches are listed, beside a user key, a state and a label.

    *user_key_prefix*: how the user key begins. *condition*: ``live`` batches, live ones with ``problems``
    (failed items or a reported stall), or those that ``endedBadly``. *opened_from*, *opened_to*: aware
    times; the second exclusive.
    """

    user_key_prefix: str | None
    condition: ConditionText | None
    opened_from: datetime | None
    opened_to: datetime | None


def filter_given(
    user_key: str | None, state: State | str | None, label: str | None, more: FilterOptions
) -> BatchFilter:
    """Return the filter of a list. Raises InvalidRequest."""
    unknown = [name for name in more if name not in FilterOptions.__annotations__]
    if unknown:
        raise TypeError(f"batches() got an unexpected keyword argument {unknown[0]!r}")
    with named_as_arguments():
        return BatchFilter(
            user_key=text_or_none(user_key, "a user key", "user_key"),
            user_key_prefix=text_or_none(
                more.get("user_key_prefix"), "the beginning of a user key", "user_key_prefix"
            ),
            state=None if state is None else state_of(state),
            condition=_condition(more.get("condition")),
            label=text_or_none(label, "a label", "label"),
            opened_from=_time(more.get("opened_from"), "opened_from"),
            opened_to=_time(more.get("opened_to"), "opened_to"),
        )


def _condition(condition: str | None) -> Condition | None:
    return None if condition is None else Condition(one_of(condition, list(Condition), "condition"))


def _time(at: datetime | None, name: str) -> datetime | None:
    """Return *at*, an aware time or None."""
    if at is not None and (not isinstance(at, datetime) or at.utcoffset() is None):
        raise InvalidRequest(f"{name} is a datetime with a time zone", field=name)
    return at
