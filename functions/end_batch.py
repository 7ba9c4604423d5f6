"""POST /v1/batches/{batchId}/end"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.repair_answers import EndedBatch
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests.repair_requests import EndBatchBody
from functions.invocation_metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/end",
    operation_id="endBatch",
    summary="Force the end of a batch",
    responses=answers(200, EndedBatch, 400, 403, 404, 409, 413, 415, 422, 503),
)
def end_batch(batch_id: BatchId, body: EndBatchBody, idempotency_key: IdempotencyKey = None) -> EndedBatch:
    """End a batch as failed, with a reason. One that was ended so before is returned unchanged.

    The batch and its event `BatchFailed` have the result `forced`, the reason, and the caller in `endedBy`.
    A batch that has ended otherwise is refused with 409 and `batch-ended`.
    """
    who = caller(app)
    ended = tracking.tracker().end(who.tenant, batch_id, body.reason, who.principal, idempotency_key)
    return EndedBatch.of(ended)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
