"""The options of a batch: chosen at open, never changed, and the filter by which batches are listed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fanin.errors import InvalidRequest
from fanin.tracker.thresholds import Threshold, check_callback, checked_stuck_after, checked_thresholds
from fanin.tracker.tokens import OnFailures, TaskToken, token_given

if TYPE_CHECKING:
    from fanin.tracker.model import Batch, State

LIFETIME_MAX = timedelta(days=400)
"""The longest lifetime of a batch, whatever its activity; its pages expire after that."""
USER_KEY_MAX = 256
"""Characters of a user key."""
LABELS_MAX = 10
USER_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}")
LABEL_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f:\ud800-\udfff]{1,64}")
LABEL_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{0,256}")
LABEL = re.compile(f"{LABEL_KEY.pattern}:{LABEL_VALUE.pattern}")
"""Texts without control characters and lone surrogates, which have no form in UTF-8."""


class Mode(StrEnum):
    """Exact: one bit for each item. Estimated: counters, in which a duplicate ack counts twice."""

    EXACT = "exact"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a batch is kept in each state, counted from entering the state."""

    open: timedelta = timedelta(days=7)
    closed: timedelta = timedelta(days=14)
    complete: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        if not all(isinstance(kept, timedelta) for kept in (self.open, self.closed, self.complete)):
            raise InvalidRequest(
                "a retention is given in timedeltas, such as timedelta(days=1)", field="retentionSeconds"
            )
        if self.open + self.closed + self.complete > LIFETIME_MAX:
            raise InvalidRequest(
                f"the three retentions may add up to {LIFETIME_MAX.days} days", field="retentionSeconds"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOptions:
    """The options of a batch that every answer about it shows; they are chosen at open and never change."""

    user_key: str | None = None
    mode: Mode = Mode.EXACT
    expected_items: int | None = None
    max_failures: int | None = None
    max_failure_percent: int | None = None
    parent_item_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    callback: str | None = None
    notify_at: tuple[Threshold, ...] = ()
    stuck_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(ShownOptions):
    """All options of a batch that its row keeps."""

    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch(BatchOptions):
    """A request for a new batch. *deadline*: the batch times out so long after it was opened.

    *task_token*: of a Step Functions task that waits for the end of the batch; *on_failures*: its end.
    """

    deadline: timedelta | None = None
    task_token: str | None = field(default=None, repr=False)
    on_failures: OnFailures = OnFailures.SUCCEED

    def __post_init__(self) -> None:
        _check_user_key(self.user_key, "userKey")
        object.__setattr__(self, "labels", _checked_labels(self.labels))
        object.__setattr__(self, "notify_at", checked_thresholds(self.notify_at))
        checked_stuck_after(self.stuck_after)
        check_callback(self.callback)
        token_given(self.task_token, self.on_failures, self.deadline)

    @property
    def token(self) -> TaskToken | None:
        """The task token, or None."""
        return token_given(self.task_token, self.on_failures, self.deadline)


def _check_user_key(text: str | None, field: str) -> None:
    """Raise InvalidRequest for a user key, or the beginning of one, that no batch can have."""
    if text is not None and not USER_KEY.fullmatch(text):
        raise InvalidRequest(
            f"a user key has 1 to {USER_KEY_MAX} characters, no control character and no lone surrogate",
            field=field,
        )


def _checked_labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return *labels* in the order of their keys; raise InvalidRequest for a key or a value out of bounds."""
    if not isinstance(labels, Mapping) or len(labels) > LABELS_MAX:
        raise InvalidRequest(f"labels are a mapping of at most {LABELS_MAX} keys to values", field="labels")
    for key, value in labels.items():
        if not isinstance(key, str) or not LABEL_KEY.fullmatch(key):
            raise InvalidRequest(
                "the key of a label has 1 to 64 characters, no control character and no colon", field="labels"
            )
        if not isinstance(value, str) or not LABEL_VALUE.fullmatch(value):
            raise InvalidRequest(
                "the value of a label has up to 256 characters and no control character", field="labels"
            )
    return dict(sorted(labels.items()))


def options_of(source: BatchOptions) -> dict[str, Any]:
    """Return the options of a batch, or of the request for it, by their names."""
    return {option.name: getattr(source, option.name) for option in fields(BatchOptions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFilter:
    """Which batches of a tenant are listed: those that have every property given here.

    *opened_from*, *opened_to* (exclusive): aware times, of which milliseconds count.
    """

    user_key: str | None = None
    user_key_prefix: str | None = None
    state: State | None = None
    label: str | None = None
    opened_from: datetime | None = None
    opened_to: datetime | None = None

    def __post_init__(self) -> None:
        if self.user_key is not None and self.user_key_prefix is not None:
            raise InvalidRequest(
                "batches are listed by a whole user key or by its beginning; give one", field="userKeyPrefix"
            )
        if self.opened_from and self.opened_to and self.opened_from >= self.opened_to:
            raise InvalidRequest("batches are listed from a time to a later one", field="openedTo")
        _check_user_key(self.user_key, "userKey")
        _check_user_key(self.user_key_prefix, "userKeyPrefix")
        if self.label is not None and not LABEL.fullmatch(self.label):
            raise InvalidRequest("batches are listed by a label as key:value", field="label")

    @property
    def reads_rows(self) -> bool:
        """Whether rows have to be read to find the batches: a user key has a list, and each list an order."""
        return any(wanted is not None for wanted in (self.state, self.label, self.user_key_prefix))

    @property
    def label_pair(self) -> tuple[str, str] | None:
        """The key and the value of the label, where it is given."""
        key, _, value = (self.label or "").partition(":")
        return None if self.label is None else (key, value)

    def matches(self, batch: Batch) -> bool:
        """Whether *batch* has every property."""
        same_key = self.user_key is None or batch.user_key == self.user_key
        same_key = same_key and (batch.user_key or "").startswith(self.user_key_prefix or "")
        labeled = self.label_pair is None or self.label_pair in batch.labels.items()
        in_state = self.state is None or batch.state is self.state
        return same_key and labeled and in_state and self.includes(batch.created_at)

    def includes(self, opened_at: datetime) -> bool:
        """Whether a batch that was opened then is listed."""
        late_enough = self.opened_from is None or self.opened_from <= opened_at
        return late_enough and (self.opened_to is None or opened_at < self.opened_to)


def filter_of(source: BatchFilter) -> dict[str, Any]:
    """Return the properties of a filter, or of a query that has one, by their names."""
    return {wanted.name: getattr(source, wanted.name) for wanted in fields(BatchFilter)}
