"""POST /v1/batches/{batchId}/notify"""

from typing import Any

from fanin.api.answers.batch_answers import NotifiedBatch
from fanin.api.answers.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests.batch_requests import NotifyBatchBody
from functions.invocation_metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/notify",
    status_code=202,
    operation_id="notifyBatch",
    summary="Send a batch's ending event again",
    responses=answers(202, NotifiedBatch, 400, 403, 404, 409, 413, 415, 422, 503),
)
def notify_batch(
    batch_id: BatchId,
    body: NotifyBatchBody = NotifyBatchBody(),  # noqa: ARG001  # checked to be empty
    idempotency_key: IdempotencyKey = None,
) -> NotifiedBatch:
    """Send the ending event of a batch again, with the same event id."""
    return NotifiedBatch.of(tracking.tracker().notify(caller(app).tenant, batch_id, idempotency_key))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
