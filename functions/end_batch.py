"""POST /v1/batches/{batchId}/end"""

from typing import Any

from fanin.api.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, bind, caller, edge
from fanin.api.repair_answers import EndedBatch
from fanin.api.repair_requests import EndBatchBody
from functions.metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/end",
    operation_id="endBatch",
    summary="Force the end of a batch",
    responses=answers(200, EndedBatch, 400, 403, 404, 413, 415, 422, 503),
)
def end_batch(batch_id: BatchId, body: EndBatchBody, idempotency_key: IdempotencyKey = None) -> EndedBatch:
    """End a batch as failed, with a reason. A batch that has ended before is returned unchanged.

    The batch and its event `BatchFailed` have the result `forced`, the reason, and the caller in `endedBy`.
    """
    who, tracker = caller(app), tracking.tracker()
    bind(tracker, who, "end", idempotency_key, f"{batch_id}\n{body.reason}")
    return EndedBatch.of(tracker.end(who.tenant, batch_id, body.reason, who.principal))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
