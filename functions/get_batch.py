"""GET /v1/batches/{batchId}, and GET /v1/batches/{batchId}/map, which reads the same tables"""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.batch_answers import BatchAnswer
from fanin.api.answers.documents import answers
from fanin.api.answers.maps import WINDOWED, Cells, MapAnswer, Start, Stop
from fanin.api.edge import BatchId, caller
from fanin.tracker.reads.mapping import CELLS_MAX
from functions.api.reading import reading_edge
from functions.wiring import tracking

Shown = Annotated[
    Literal["none", "estimate"] | None,
    Query(
        alias="progress",
        description="`none`: the state without `progress`, for which pages are read. `estimate`: from at most"
        " 32 pages of a level, where a batch of a million items has up to 977.",
    ),
]

app = reading_edge(query=("progress",), also={"/map": WINDOWED})


@app.get(
    "/v1/batches/<batchId>",
    operation_id="getBatch",
    summary="Get a batch",
    responses=answers(200, BatchAnswer, 400, 403, 404, 429, 503),
)
def get_batch(batch_id: BatchId, progress: Shown = None) -> BatchAnswer:
    """Return the state and progress of a batch, and the event of its end."""
    tracker = tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    read = tracker.glimpse if progress == "estimate" else tracker.progress
    found = None if progress == "none" else read(batch)
    return BatchAnswer.shown(batch, found, tracker.is_confirmed(batch), tracker.now())


@app.get(
    "/v1/batches/<batchId>/map",
    operation_id="getMap",
    summary="Get a map of a batch",
    responses=answers(200, MapAnswer, 400, 403, 404, 429, 503),
)
def get_map(batch_id: BatchId, cells: Cells = None, start: Start = None, stop: Stop = None) -> MapAnswer:
    """Return how many items of each part of a batch are done, and which parts have failures.

    The cost is bounded, whatever the size of the batch: at most `cells` + 1,024 pages of each level are read.
    Windows of up to a million items are exact.
    """
    tracker = tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    return MapAnswer.of(tracker.map(batch, cells or CELLS_MAX, start or 0, stop))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
