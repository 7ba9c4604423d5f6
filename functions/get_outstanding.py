"""GET /v1/batches/{batchId}/outstanding"""

from typing import Any

from fanin.api import cursors
from fanin.api.answers import OutstandingItems
from fanin.api.documents import answers
from fanin.api.edge import BatchId, Cursor, RangeLimit, caller, edge
from functions.wiring import tracking

app = edge(tracking.settings, query=("limit", "cursor"))


@app.get(
    "/v1/batches/<batchId>/outstanding",
    operation_id="getOutstanding",
    summary="List outstanding items",
    responses=answers(200, OutstandingItems, 400, 403, 404, 409, 503),
)
def get_outstanding(batch_id: BatchId, limit: RangeLimit = 100, cursor: Cursor = None) -> OutstandingItems:
    """List the items of a batch that are not acked yet, as ranges of its groups."""
    start, tracker = cursors.item_at(cursor), tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    return OutstandingItems.of(tracker.outstanding(batch, start, limit))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
