"""POST /v1/batches/{batchId}/close"""

from typing import Any

from fanin.api.answers import ClosedBatch
from fanin.api.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, bind, caller, edge
from fanin.api.requests import CloseBatchBody
from functions.metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/close",
    operation_id="closeBatch",
    summary="Close a batch",
    responses=answers(200, ClosedBatch, 400, 403, 404, 409, 413, 415, 422, 503),
)
def close_batch(
    batch_id: BatchId,
    body: CloseBatchBody = CloseBatchBody(),  # noqa: ARG001  # checked to be empty
    idempotency_key: IdempotencyKey = None,
) -> ClosedBatch:
    """Close a batch, so that its total is final and it completes once every item is acked."""
    who, tracker = caller(app), tracking.tracker()
    bind(tracker, who, "close", idempotency_key, batch_id)
    return ClosedBatch.of(tracker.close(who.tenant, batch_id, who.token("close", idempotency_key)))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
