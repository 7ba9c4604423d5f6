"""GET /v1/batches/{batchId}/failures"""

from typing import Any

from fanin.api.answers.batch_answers import FailedItems
from fanin.api.answers.documents import answers
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import BatchId, Cursor, RangeLimit, caller
from fanin.api.requests.windows import WINDOWED, First, InGroup, Last, asked_window
from functions.api.reading import reading_edge
from functions.wiring import tracking

app = reading_edge(query=WINDOWED)


@app.get(
    "/v1/batches/<batchId>/failures",
    operation_id="getFailures",
    summary="List failed items",
    responses=answers(200, FailedItems, 400, 403, 404, 409, 429, 503),
)
def get_failures(
    batch_id: BatchId,
    limit: RangeLimit = 100,
    cursor: Cursor = None,
    group_id: InGroup = None,
    first: First = None,
    last: Last = None,
) -> FailedItems:
    """List the failed items of a batch as ranges of its groups, with some reasons on the first page.

    With `groupId`, `from` and `to`: those of at most 10,000 items of a group, by a consistent read, without
    reasons.
    """
    asked, start = asked_window(app, group_id, first, last), cursors.item_at(cursor)
    tracker = tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    if asked:
        window = tracker.window(batch, *asked)
        return FailedItems.listed(window.ranges(window.failed), samples=[])
    found = tracker.failures(batch, start, limit)
    return FailedItems.with_samples(found, () if cursor else tracker.samples(batch))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
