"""POST /v1/batches/{batchId}/notify"""

from typing import Any

from fanin.api.answers import NotifiedBatch
from fanin.api.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, bind, caller, edge
from fanin.api.requests import NotifyBatchBody
from functions.metrics.counts import measured
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
    body: NotifyBatchBody = NotifyBatchBody(),  # noqa: ARG001  # room for the fields of later versions
    idempotency_key: IdempotencyKey = None,
) -> NotifiedBatch:
    """Send the event of a batch that has ended once more, under the id it had."""
    who, tracker = caller(app), tracking.tracker()
    bind(tracker, who, "notify", idempotency_key, batch_id)
    return NotifiedBatch.of(tracker.notify(who.tenant, batch_id))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
