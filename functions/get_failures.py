"""GET /v1/batches/{batchId}/failures"""

from typing import Any

from fanin.api import cursors
from fanin.api.answers import FailedItems
from fanin.api.documents import answers
from fanin.api.edge import BatchId, Cursor, RangeLimit, caller, edge
from functions.wiring import tracking

app = edge(tracking.settings, query=("limit", "cursor"))


@app.get(
    "/v1/batches/<batchId>/failures",
    operation_id="getFailures",
    summary="List failed items",
    responses=answers(200, FailedItems, 400, 403, 404, 409, 503),
)
def get_failures(batch_id: BatchId, limit: RangeLimit = 100, cursor: Cursor = None) -> FailedItems:
    """List the failed items of a batch as ranges of its groups, with some reasons on the first page."""
    start, tracker = cursors.item_at(cursor), tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    found = tracker.failures(batch, start, limit)
    return FailedItems.with_samples(found, () if cursor else tracker.samples(batch))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
