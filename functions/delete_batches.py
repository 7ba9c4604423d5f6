"""DELETE /v1/batches"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.repair_answers import DeletedBatches
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import Cursor, caller, edge
from fanin.api.requests.repair_requests import EndedBefore, instant_of
from functions.invocation_metrics.counts import measured
from functions.wiring import tracking

app = edge(tracking.settings, query=("endedBefore", "cursor"))


@app.delete(
    "/v1/batches",
    operation_id="deleteBatches",
    summary="Delete the batches that ended before a time",
    responses=answers(200, DeletedBatches, 400, 403, 503),
)
def delete_batches(ended_before: EndedBefore, cursor: Cursor = None) -> DeletedBatches:
    """Delete a part of the tenant's batches that ended before a time; repeat with `cursor` while `more`."""
    before, after = instant_of(ended_before, "endedBefore"), cursors.batch_at(cursor)
    return DeletedBatches.of(tracking.tracker().delete_ended(caller(app).tenant, before, after))


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
