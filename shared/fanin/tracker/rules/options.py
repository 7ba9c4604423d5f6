"""The options of a batch: chosen at open, never changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any

from fanin.errors import InvalidRequest
from fanin.tracker.rules.threshold_options import (
    Threshold,
    check_callback,
    checked_stuck_after,
    checked_thresholds,
)
from fanin.tracker.rules.tokens import OnFailures, TaskToken, token_given

LIFETIME_MAX = timedelta(days=400)
"""The longest lifetime of a batch, whatever its activity; its pages expire after that."""
KEPT_MIN, KEPT_MAX = timedelta(minutes=1), timedelta(days=366)
"""The bounds of the time that a batch is kept in one state."""
SECOND = timedelta(seconds=1)
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
    """How long a batch is kept in each state, from entering it: whole seconds, 1 minute to 366 days."""

    open: timedelta = timedelta(days=7)
    closed: timedelta = timedelta(days=14)
    complete: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        stages = {"open": self.open, "closed": self.closed, "complete": self.complete}
        for stage, kept in stages.items():
            if not isinstance(kept, timedelta) or kept % SECOND or not KEPT_MIN <= kept <= KEPT_MAX:
                raise InvalidRequest(
                    f"the retention {stage} is a timedelta, such as timedelta(days=1), of whole seconds, from"
                    f" 1 minute to {KEPT_MAX.days} days, not {kept!r}",
                    field="retention",
                )
        if sum(stages.values(), timedelta(0)) > LIFETIME_MAX:
            raise InvalidRequest(
                f"the three retentions may add up to {LIFETIME_MAX.days} days", field="retention"
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
        check_user_key(self.user_key, "userKey")
        object.__setattr__(self, "labels", _checked_labels(self.labels))
        object.__setattr__(self, "notify_at", checked_thresholds(self.notify_at))
        checked_stuck_after(self.stuck_after)
        check_callback(self.callback)
        token_given(self.task_token, self.on_failures, self.deadline)

    @property
    def token(self) -> TaskToken | None:
        """The task token, or None."""
        return token_given(self.task_token, self.on_failures, self.deadline)


def check_user_key(text: str | None, field: str) -> None:
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
    return {str.__str__(key): str.__str__(value) for key, value in sorted(labels.items())}


def options_of(source: BatchOptions) -> dict[str, Any]:
    """Return the options of a batch, or of the request for it, by their names."""
    return {option.name: getattr(source, option.name) for option in fields(BatchOptions)}
