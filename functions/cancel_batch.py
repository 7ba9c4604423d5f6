"""POST /v1/batches/{batchId}/cancel"""

from typing import Any

from fanin.api.answers import CancelledBatch
from fanin.api.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, bind, caller, edge
from fanin.api.requests import CancelBatchBody
from functions.metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/cancel",
    operation_id="cancelBatch",
    summary="Cancel a batch",
    responses=answers(200, CancelledBatch, 400, 403, 404, 413, 415, 422, 503),
)
def cancel_batch(
    batch_id: BatchId, body: CancelBatchBody = CancelBatchBody(), idempotency_key: IdempotencyKey = None
) -> CancelledBatch:
    """End a batch without waiting for its items. A batch that has ended before is returned unchanged."""
    who, tracker = caller(app), tracking.tracker()
    bind(tracker, who, "cancel", idempotency_key, f"{batch_id}\n{body.reason or ''}")
    return CancelledBatch.of(tracker.cancel(who.tenant, batch_id, body.reason))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
