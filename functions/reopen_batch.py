"""POST /v1/batches/{batchId}/reopen"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.repair_answers import ReopenedBatch
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests.repair_requests import ReopenBatchBody
from functions.invocation_metrics.created import counting_batches
from functions.invocation_metrics.measuring import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/reopen",
    status_code=201,
    operation_id="reopenBatch",
    summary="Reopen the failed items of a batch",
    responses=answers(201, ReopenedBatch, 400, 403, 404, 409, 413, 415, 422, 429, 503),
)
def reopen_batch(
    batch_id: BatchId, body: ReopenBatchBody = ReopenBatchBody(), idempotency_key: IdempotencyKey = None
) -> ReopenedBatch:
    """Open a new batch for the failed items of an ended one. It is closed: its items are reserved.

    Options that are not given are those of the origin. A retry with the same idempotency key returns the
    same batch.
    """
    who, request = caller(app), body.spec(batch_id)
    token = who.token("reopen", idempotency_key)
    batch = counting_batches(tracking.tracker()).reopen(who.tenant, request, token, key=idempotency_key)
    return ReopenedBatch.of(batch)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
