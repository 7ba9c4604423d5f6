"""POST /v1/batches/{batchId}/items"""

from typing import Any

from fanin.api.answers.batch_answers import AddedItems
from fanin.api.answers.documents import answers
from fanin.api.edge import BatchId, IdempotencyKey, caller, edge
from fanin.api.requests.batch_requests import AddItemsBody
from functions.invocation_metrics.created import counting_batches
from functions.invocation_metrics.measuring import measured
from functions.wiring import tracking
from functions.wiring.quotas import charge

app = edge(tracking.settings)


@app.post(
    "/v1/batches/<batchId>/items",
    status_code=201,
    operation_id="addItems",
    summary="Reserve items",
    responses=answers(201, AddedItems, 400, 403, 404, 409, 413, 415, 422, 429, 503),
)
def add_items(batch_id: BatchId, body: AddItemsBody, idempotency_key: IdempotencyKey = None) -> AddedItems:
    """Reserve items in an open batch and return their group."""
    tenant = caller(app).tenant
    charge(tenant, "adds")
    added = counting_batches(tracking.tracker()).add(tenant, batch_id, body.count, key=idempotency_key)
    return AddedItems.of(added)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
