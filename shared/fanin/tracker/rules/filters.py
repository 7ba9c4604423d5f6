"""By which properties batches are listed: a filter of a caller, and the query of one list of a store."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanin.errors import InvalidRequest
from fanin.tracker.rules.model import Batch, Position, State, shard_of
from fanin.tracker.rules.option_kinds import LABEL
from fanin.tracker.rules.options import USER_KEY

BADLY = frozenset({State.FAILED, State.CANCELLED, State.TIMED_OUT})
"""States of an end before all items were done, or enough."""


class Condition(StrEnum):
    """What a list looks for beyond one state.

    LIVE: not ended. PROBLEMS: live, with failed items or a reported stall. ENDED_BADLY: ended before all
    items were done, or enough, or with failed ones.
    """

    LIVE = "live"
    PROBLEMS = "problems"
    ENDED_BADLY = "endedBadly"

    def fits(self, batch: Batch) -> bool:
        """Whether *batch* is in this condition."""
        if self is Condition.ENDED_BADLY:
            return batch.state in BADLY or batch.result == "completed_with_failures"
        return batch.is_alive and (self is Condition.LIVE or batch.failed > 0 or batch.is_stalled)


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
    condition: Condition | None = None

    def __post_init__(self) -> None:
        if self.user_key is not None and self.user_key_prefix is not None:
            raise InvalidRequest(
                "batches are listed by a whole user key or by its beginning; give one", field="userKeyPrefix"
            )
        if self.opened_from and self.opened_to and self.opened_from >= self.opened_to:
            raise InvalidRequest("batches are listed from a time to a later one", field="openedTo")
        for text, field in ((self.user_key, "userKey"), (self.user_key_prefix, "userKeyPrefix")):
            if text is not None:
                USER_KEY.check(text, field)
        if self.label is not None and not LABEL.fullmatch(self.label):
            raise InvalidRequest("batches are listed by a label as key:value", field="label")

    @property
    def reads_rows(self) -> bool:
        """Whether rows have to be read to find the batches: a user key has a list, and each list an order."""
        looked_for = (self.state, self.condition, self.label, self.user_key_prefix)
        return any(wanted is not None for wanted in looked_for)

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
        in_state = in_state and (self.condition is None or self.condition.fits(batch))
        return same_key and labeled and in_state and self.includes(batch.created_at)

    def includes(self, opened_at: datetime) -> bool:
        """Whether a batch that was opened then is listed."""
        late_enough = self.opened_from is None or self.opened_from <= opened_at
        return late_enough and (self.opened_to is None or opened_at < self.opened_to)


def filter_of(source: BatchFilter) -> dict[str, Any]:
    """Return the properties of a filter, or of a query that has one, by their names."""
    return {wanted.name: getattr(source, wanted.name) for wanted in fields(BatchFilter)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(BatchFilter):
    """One list of a tenant's batches: those of a user key, or one shard of all.

    *before*: only batches opened earlier, or at the same time with a smaller id.
    """

    tenant: str
    shard: int
    limit: int
    before: Position | None = None

    def covers(self, batch: Batch) -> bool:
        """Whether the rows of this list that are read include *batch*, whether it matches or not."""
        listed = shard_of(batch.batch_id) == self.shard if self.user_key is None else self._is_named(batch)
        earlier = self.before is None or batch.position < self.before
        return batch.tenant == self.tenant and listed and earlier and self.includes(batch.created_at)

    def _is_named(self, batch: Batch) -> bool:
        return batch.user_key == self.user_key
