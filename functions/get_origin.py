"""GET /v1/batches/{batchId}/origin"""

from typing import Any

from fanin.api import cursors
from fanin.api.documents import answers
from fanin.api.edge import BatchId, Cursor, RangeLimit, caller, edge
from fanin.api.repair_answers import OriginItems
from functions.wiring import tracking

app = edge(tracking.settings, query=("limit", "cursor"))


@app.get(
    "/v1/batches/<batchId>/origin",
    operation_id="getOrigin",
    summary="List the items that a reopened batch stands for",
    responses=answers(200, OriginItems, 400, 403, 404, 409, 503),
)
def get_origin(batch_id: BatchId, limit: RangeLimit = 100, cursor: Cursor = None) -> OriginItems:
    """List the items of a reopened batch, as ranges, with the items of its origin that they stand for."""
    at, tracker = cursors.pair_at(cursor), tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    return OriginItems.of(batch, tracker.origin(batch, at, limit))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
