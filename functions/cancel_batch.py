"""POST /v1/batches/{batchId}/cancel"""

from typing import Any

from fanin.api.answers.batch_answers import CancelledBatch
from fanin.api.answers.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests.batch_requests import CancelBatchBody
from functions.invocation_metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/cancel",
    operation_id="cancelBatch",
    summary="Cancel a batch",
    responses=answers(200, CancelledBatch, 400, 403, 404, 409, 413, 415, 422, 503),
)
def cancel_batch(
    batch_id: BatchId, body: CancelBatchBody = CancelBatchBody(), idempotency_key: IdempotencyKey = None
) -> CancelledBatch:
    """End a batch without waiting for its items. One that was cancelled before is returned unchanged.

    A batch that has ended otherwise is refused with 409 and `batch-ended`. With `children`, the first 100
    live batches below it have ended when this returns, and the sweep cancels the others.
    """
    tenant, tracker = caller(app).tenant, tracking.tracker()
    batch = tracker.cancel(tenant, batch_id, body.reason, idempotency_key, body.children)
    return CancelledBatch.of(batch)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
