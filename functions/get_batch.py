"""GET /v1/batches/{batchId}"""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers import BatchAnswer
from fanin.api.documents import answers
from fanin.api.edge import BatchId, caller, edge
from functions.wiring import tracking

Shown = Annotated[
    Literal["none"] | None,
    Query(alias="progress", description="`none`: the state without `progress`, for which pages are read."),
]

app = edge(tracking.settings, query=("progress",))


@app.get(
    "/v1/batches/<batchId>",
    operation_id="getBatch",
    summary="Get a batch",
    responses=answers(200, BatchAnswer, 400, 403, 404, 503),
)
def get_batch(batch_id: BatchId, progress: Shown = None) -> BatchAnswer:
    """Return the state and progress of a batch, and the event of its end."""
    tracker = tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    found = None if progress == "none" else tracker.progress(batch)
    return BatchAnswer.shown(batch, found, tracker.is_announced(batch))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
