"""GET /v1/batches/{batchId}"""

from typing import Any

from fanin.api.answers import BatchAnswer
from fanin.api.documents import answers
from fanin.api.edge import BatchId, caller, edge
from functions.wiring import tracking

app = edge(tracking.settings)


@app.get(
    "/v1/batches/<batchId>",
    operation_id="getBatch",
    summary="Get a batch",
    responses=answers(200, BatchAnswer, 400, 403, 404, 503),
)
def get_batch(batch_id: BatchId) -> BatchAnswer:
    """Return the state and progress of a batch."""
    batch = tracking.tracker().get(caller(app).tenant, batch_id)
    return BatchAnswer.with_progress(batch, tracking.tracker().progress(batch))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
