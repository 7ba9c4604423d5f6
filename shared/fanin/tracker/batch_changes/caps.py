"""The caps of a batch: how many items it takes, and what they may cost. An add is refused before it is sent.

The reservation requires the total that was checked, so concurrent adds cannot pass a cap together.
"""

from __future__ import annotations

from fanin.errors import Conflict, InvalidRequest
from fanin.tracker.rules.ids import TOTAL_MAX
from fanin.tracker.rules.model import Batch


def check_room(batch: Batch, count: int) -> None:
    """Raise Conflict if *count* more items would pass a cap, InvalidRequest if no batch holds so many."""
    total = batch.total + count
    if total > TOTAL_MAX:
        raise InvalidRequest(f"a batch holds at most {TOTAL_MAX} items", field="count")
    if batch.max_items is not None and total > batch.max_items:
        raise Conflict(
            f"batch {batch.batch_id} takes at most {batch.max_items:,} items and has {batch.total:,}:"
            f" {count:,} more would pass that; add fewer, or open another batch for them"
        )
    if batch.max_cost is not None:
        _check_cost(batch, batch.max_cost, count)


def _check_cost(batch: Batch, most: float, count: int) -> None:
    from fanin.cost.fan_out import most_dollars  # noqa: PLC0415  # most functions start without prices

    total = batch.total + count
    dollars = most_dollars(total, batch.results)
    if dollars > most:
        with_results = ", with a result" if batch.results else ""
        raise Conflict(
            f"the items of batch {batch.batch_id} may cost {_dollars(most)}, and {total:,} cost up to"
            f" {_dollars(dollars)}, each sent and acked alone{with_results}: an add of {count:,} would pass"
            " that; add fewer, or open another batch for them"
        )


def _dollars(amount: float) -> str:
    """Return an amount to a millionth of a dollar."""
    return f"${amount:,.6f}".rstrip("0").rstrip(".")
