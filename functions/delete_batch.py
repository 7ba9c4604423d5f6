"""DELETE /v1/batches/{batchId}"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.repair_answers import DeletedBatch
from fanin.api.edge import BatchId, caller, edge
from functions.invocation_metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.delete(
    "/v1/batches/<batchId>",
    operation_id="deleteBatch",
    summary="Delete an ended batch",
    responses=answers(200, DeletedBatch, 400, 403, 404, 409, 503),
)
def delete_batch(batch_id: BatchId) -> DeletedBatch:
    """Remove the user data of an ended batch, which is not found from then on; a repeat changes nothing.

    A live batch is refused with 409, and so is one whose ending event is not confirmed yet: retry in a
    minute.
    """
    return DeletedBatch.like(tracking.tracker().delete(caller(app).tenant, batch_id))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
