"""GET /v1/batches/{batchId}/outstanding"""

from typing import Any

from fanin.api.answers.batch_answers import OutstandingItems
from fanin.api.answers.documents import answers
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import BatchId, Cursor, RangeLimit, caller
from fanin.api.requests.windows import WINDOWED, First, InGroup, Last, asked_window
from functions.api.reading import reading_edge
from functions.wiring import tracking

app = reading_edge(query=WINDOWED)


@app.get(
    "/v1/batches/<batchId>/outstanding",
    operation_id="getOutstanding",
    summary="List outstanding items",
    responses=answers(200, OutstandingItems, 400, 403, 404, 409, 429, 503),
)
def get_outstanding(
    batch_id: BatchId,
    limit: RangeLimit = 100,
    cursor: Cursor = None,
    group_id: InGroup = None,
    first: First = None,
    last: Last = None,
) -> OutstandingItems:
    """List the items of a batch that are not acked yet, as ranges of its groups.

    With `groupId`, `from` and `to`: those of at most 10,000 items of a group, by a consistent read.
    """
    asked, start = asked_window(app, group_id, first, last), cursors.item_at(cursor)
    tracker = tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    if asked:
        found = tracker.window(batch, *asked)
        return OutstandingItems.listed(found.ranges(found.outstanding))
    return OutstandingItems.of(tracker.outstanding(batch, start, limit))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
