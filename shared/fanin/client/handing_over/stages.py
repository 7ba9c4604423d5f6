"""Stages of one work: a batch with an item for each stage, which the batch of that stage acks.

The batch of the first stage is opened with the whole; the next ones by the ending event of the stage before,
each under a key that follows from its item, so that an event that arrives again finds the same batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from fanin.client.argument_checks.opening import OpenOptions
from fanin.client.batch import Batch
from fanin.client.fanin import Fanin
from fanin.client.items import Items
from fanin.client.model import Status
from fanin.errors import BatchEnded, InvalidRequest
from fanin.tracker import ItemId
from fanin.tracker.rules.children import fails_item

STAGES_MAX = 100


class Stages:
    """A batch whose *items* are the stages of one work, in order; *id*: of this batch, the whole."""

    def __init__(self, fanin: Fanin, items: Items) -> None:
        self.id = items.batch_id
        self.items = items
        self._fanin = fanin

    def __repr__(self) -> str:
        return f"<Stages {self.id}, {len(self.items)} stages>"

    @classmethod
    def open(
        cls,
        fanin: Fanin,
        count: int,
        user_key: str | None = None,
        *,
        key: str,
        **options: Unpack[OpenOptions],
    ) -> Stages:
        """Open the whole of *count* stages, 2 to 100, or return the one opened under this *key*.

        *options*: of the whole; a deadline ends it if a stage never does. Raises as ``Fanin.open``.
        """
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= STAGES_MAX:
            raise InvalidRequest(f"a work has 2 to {STAGES_MAX} stages, not {count!r}", field="count")
        with fanin.open(user_key, key=key, **options) as whole:
            return cls(fanin, whole.add(count, key="stages"))

    def stage(self, number: int, user_key: str | None = None, **options: Unpack[OpenOptions]) -> Batch:
        """Open the batch of a stage, counted from 0, or return the one that was opened for it.

        Its end acks its item of the whole. Raises as ``Fanin.open``.
        """
        last = len(self.items) - 1
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= last:
            raise InvalidRequest(f"the stages of this work are 0 to {last}, not {number!r}", field="number")
        return _stage(self._fanin, self.items[number], user_key, options)

    @staticmethod
    def next(
        fanin: Fanin, detail: Mapping[str, Any], user_key: str | None = None, **options: Unpack[OpenOptions]
    ) -> Batch | None:
        """Open the batch of the stage after the one whose ending event *detail* is; the same one each time.

        None if there is nothing to do: after the last stage, when the next one or the whole has ended, and
        for a stage whose end failed its item. Then the items of the later stages fail, and the whole ends.
        *options*: the same ones for each event. Raises InvalidRequest if the batch of the event is no stage.
        """
        stage = fanin.status(detail["batchId"])
        if stage.parent_item_id is None:
            raise InvalidRequest(
                f"batch {stage.batch_id} is the stage of no batch: it has no parent item", field="detail"
            )
        later = _later(fanin, stage)
        if not later:
            return None
        if stage.result is not None and fails_item(stage, stage.result):
            fanin.fail(later, f"the stage before, batch {stage.batch_id}, is {stage.result}")
            return None
        try:
            return _stage(fanin, later[0], user_key, options)
        except BatchEnded:
            return None


def _later(fanin: Fanin, stage: Status) -> list[str]:
    """Return the items of the stages after *stage*; none if the whole, or the next stage, has ended."""
    item = ItemId.parse(str(stage.parent_item_id))
    whole = fanin.status(item.batch_id)
    later = range(item.index + 1, whole.total)
    if not later or whole.result is not None:
        return []
    later_items = Items.between(item.batch_id, item.group_id, later[0], later[-1])
    is_outstanding = any(later_items[0] in part for part in fanin.outstanding_of(later_items))
    return list(later_items) if is_outstanding else []


def _stage(fanin: Fanin, item: str, user_key: str | None, options: OpenOptions) -> Batch:
    given: OpenOptions = {**options, "parent": item}
    return fanin.open(user_key, key=f"stage:{item}", **given)
