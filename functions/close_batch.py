"""POST /v1/batches/{batchId}/close"""

from typing import Any

from fanin.api.answers import ClosedBatch
from fanin.api.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests import CloseBatchBody
from functions import wiring

app = edge(wiring.settings)


@app.post(
    "/v1/batches/<batchId>/close",
    operation_id="closeBatch",
    summary="Close a batch",
    responses=answers(200, ClosedBatch, 400, 403, 404, 413, 415, 503),
)
def close_batch(
    batch_id: BatchId,
    body: CloseBatchBody,  # noqa: ARG001  # `{}`: room for the fields of later versions
    idempotency_key: IdempotencyKey = None,
) -> ClosedBatch:
    """Close a batch: its total is final, and it completes once every item is acked."""
    who = caller(app)
    return ClosedBatch.of(wiring.tracker().close(who.tenant, batch_id, who.token(idempotency_key)))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
