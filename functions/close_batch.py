"""POST /v1/batches/{batchId}/close"""

from typing import Any

from fanin.api.answers.batch_answers import ClosedBatch
from fanin.api.answers.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests.batch_requests import CloseBatchBody
from functions.invocation_metrics.counts import measured
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
    """Close a batch, so that its total is final and it completes once every item is acked.

    A batch that has ended before that is refused with 409 and `batch-ended`.
    """
    who = caller(app)
    token = who.token("close", idempotency_key)
    return ClosedBatch.of(tracking.tracker().close(who.tenant, batch_id, token, idempotency_key))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
