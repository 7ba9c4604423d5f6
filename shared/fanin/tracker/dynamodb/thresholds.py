"""The requests of thresholds: the time of the last ack, and a report in one transaction with its notice."""

from __future__ import annotations

from datetime import datetime

from fanin.aws.dynamodb.rows import ABSENT, Item, number, text
from fanin.tracker.dynamodb.items import EPOCH, MILLISECOND, SCHEMA, milliseconds, seconds
from fanin.tracker.dynamodb.requests import batch_key
from fanin.tracker.rules.model import ALIVE, Batch, BatchKey, Progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.thresholds import Reached, reported

NOTICE = "notice#threshold#"
"""A threshold's notice; the stream reports it, as every row whose sort key begins with ``notice#``."""
STATES: Item = {f":is{state}": text(state) for state in ALIVE}
ALIVE_STATE = f"#state IN ({', '.join(STATES)})"


def record_ack_time(table: str, key: BatchKey, at: datetime) -> Item:
    """Set the time of a live batch's last ack, if it is later."""
    request = {
        "TableName": table,
        "Key": batch_key(key),
        "UpdateExpression": "SET ackedAt = :at",
        "ConditionExpression": f"{ALIVE_STATE} AND (attribute_not_exists(ackedAt) OR ackedAt < :at)",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": STATES | {":at": number(milliseconds(at))},
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return SCHEMA.guarded(request)


def report(table: str, seen: Batch, reached: Reached) -> Item:
    """One transaction: the mark of a threshold on the live batch, and the notice that sends its event."""
    update, condition, values = _mark(seen, reached)
    mark = {
        "TableName": table,
        "Key": batch_key(seen.key),
        "UpdateExpression": update,
        "ConditionExpression": f"{ALIVE_STATE} AND {condition}",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": STATES | values,
    }
    notice = {"TableName": table, "Item": notice_item(seen, reached), "ConditionExpression": ABSENT}
    return {"TransactItems": [{"Update": SCHEMA.guarded(mark)}, {"Put": notice}]}


def _mark(seen: Batch, reached: Reached) -> tuple[str, str, Item]:
    """Return the update of the batch's row, and the condition of :func:`thresholds.admits`."""
    if reached.threshold is not Threshold.STUCK:
        marks = {":mark": text(reached.mark), ":marks": {"SS": [reached.mark]}}
        return "ADD reported :marks", "NOT contains(reported, :mark)", marks
    after = reported(seen, reached)
    stalled_at = after.stalled_at or seen.created_at
    values = {":stall": number(reached.stall), ":since": number(milliseconds(stalled_at))}
    values[":state"] = text(seen.state)
    conditions = ["attribute_not_exists(stalls)", "attribute_not_exists(ackedAt)", "#state = :state"]
    if reached.stall > 1:
        conditions[0], values[":before"] = "stalls = :before", number(reached.stall - 1)
    if seen.acked_at is not None:
        conditions[1], values[":seen"] = "ackedAt = :seen", number(milliseconds(seen.acked_at))
    return "SET stalls = :stall, stalledAt = :since", " AND ".join(conditions), values


def notice_item(batch: Batch, reached: Reached) -> Item:
    """Return the row whose stream record makes the event of *reached* be sent; TTL deletes it."""
    progress = reached.progress
    return {
        "pk": text(str(batch.key)),
        "sk": text(NOTICE + reached.mark),
        "ttl": number(seconds(batch.expires_at)),
        "threshold": text(reached.threshold),
        "stall": number(reached.stall),
        "at": number(milliseconds(reached.at)),
        "total": number(reached.total),
        "acked": number(progress.acked),
        "failed": number(progress.failed),
        "estimate": number(progress.estimate),
        "upperBound": number(progress.upper_bound),
        "exact": {"BOOL": progress.exact},
    }


def reached_of(item: Item) -> Reached:
    """Return the threshold of a notice: the inverse of :func:`notice_item`."""
    progress = Progress(
        acked=_whole(item, "acked"),
        failed=_whole(item, "failed"),
        estimate=_whole(item, "estimate"),
        upper_bound=_whole(item, "upperBound"),
        exact=bool(item["exact"]["BOOL"]),
    )
    at = EPOCH + _whole(item, "at") * MILLISECOND
    threshold = Threshold(item["threshold"]["S"])
    return Reached(threshold, at, progress, _whole(item, "total"), _whole(item, "stall"))


def _whole(item: Item, name: str) -> int:
    return int(item[name]["N"])
