"""POST /v1/batches"""

from typing import Any

from fanin.api.answers.batch_answers import OpenedBatch
from fanin.api.answers.documents import answers
from fanin.api.bus_events.workflow_callbacks import resumable
from fanin.api.edge import IdempotencyKey, caller, edge
from fanin.api.requests.batch_requests import OpenBatchBody
from functions.invocation_metrics.created import counting_batches
from functions.invocation_metrics.measuring import measured
from functions.wiring import tracking
from functions.wiring.deployed import check_callback, resumes

app = edge(tracking.settings)


@app.post(
    "/v1/batches",
    status_code=201,
    operation_id="openBatch",
    summary="Open a batch",
    responses=answers(201, OpenedBatch, 400, 403, 409, 413, 415, 422, 429, 503),
)
def open_batch(body: OpenBatchBody = OpenBatchBody(), idempotency_key: IdempotencyKey = None) -> OpenedBatch:
    """Open a batch. A retry with the same idempotency key returns the same batch.

    A batch that has ended is refused with 409 and `batch-ended`; a new one needs another key.
    With `parentItemId` it is a child of that item: 409 if the item is done, or its children or its batch have
    ended. The key of a child that has failed opens another one in its place.
    """
    tenant = caller(app).tenant
    spec = resumable(body.spec(), resumes)
    check_callback(spec.callback, tenant, tracking.settings().tenant)
    batch = counting_batches(tracking.tracker()).open(tenant, spec, key=idempotency_key)
    return OpenedBatch.of(batch)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
