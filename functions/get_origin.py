"""GET /v1/batches/{batchId}/origin"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.repair_answers import OriginItems
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import BatchId, Cursor, RangeLimit, caller
from functions.api.reading import reading_edge
from functions.wiring import tracking

app = reading_edge(query=("limit", "cursor"))


@app.get(
    "/v1/batches/<batchId>/origin",
    operation_id="getOrigin",
    summary="List the items that a reopened batch stands for",
    responses=answers(200, OriginItems, 400, 403, 404, 409, 429, 503),
)
def get_origin(batch_id: BatchId, limit: RangeLimit = 100, cursor: Cursor = None) -> OriginItems:
    """List the items of a reopened batch, as ranges, with the items of its origin that they stand for."""
    at, tracker = cursors.pair_at(cursor), tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    return OriginItems.of(batch, tracker.origin(batch, at, limit))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
