"""GET /v1/batches/{batchId}/results"""

from datetime import UTC, datetime
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.documents import answers
from fanin.api.answers.result_answers import BatchResults, ItemResultAnswer, ManifestAnswer
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import BatchId, Cursor, caller
from fanin.api.requests.bodies import ItemIdText
from fanin.errors import InvalidRequest
from fanin.item_results.service import LINK_LIFETIME
from fanin.tracker.rules.ids import TOTAL_MAX
from fanin.tracker.rules.model import Batch, ItemKey
from functions.api.reading import reading_edge
from functions.wiring import tracking

app = reading_edge(query=("cursor", "item", "position"))
STEP_MS = 15_000
"""Milliseconds reserved for a step of gathering, and for the answer."""

OneItem = Annotated[ItemIdText | None, Query(alias="item", description="Only the result of this item.")]
Position = Annotated[
    int | None,
    Query(ge=0, le=TOTAL_MAX, description="Only the result of the item at this position, from 0."),
]


@app.get(
    "/v1/batches/<batchId>/results",
    operation_id="getResults",
    summary="Read the results of an ended batch",
    responses=answers(200, BatchResults, 400, 403, 404, 409, 429, 503),
)
def get_results(
    batch_id: BatchId, cursor: Cursor = None, item: OneItem = None, position: Position = None
) -> BatchResults:
    """Answer the files with the results of a batch that was opened with `results`, by links that expire.

    The first requests after the end gather them: while `ready` is false, repeat the request.
    """
    first, tenant = cursors.item_at(cursor), caller(app).tenant
    tracker = tracking.tracker()
    batch = tracker.get(tenant, batch_id)
    key = _key_of(batch, item, position)
    results = tracking.results()
    index = results.gathered(batch, tracker.store, _has_time)
    manifest = results.freeze(batch.key)
    if index is None:
        return BatchResults(ready=False, manifest=ManifestAnswer.of(manifest))
    if key is not None:
        found = results.of_item(index, key)
        # The group of an id that no add returned may begin where one of the batch does.
        is_named = found is not None and item in (None, found[0])
        shown = ItemResultAnswer(item_id=found[0], result=found[1]) if found and is_named else None
        return BatchResults(ready=True, manifest=ManifestAnswer.of(manifest), item=shown)
    return BatchResults.page(manifest, index, first, results.link, datetime.now(UTC) + LINK_LIFETIME)


def _has_time() -> bool:
    remaining: int = app.lambda_context.get_remaining_time_in_millis()
    return remaining > STEP_MS


def _key_of(batch: Batch, item: str | None, position: int | None) -> ItemKey | None:
    """Return the item that is asked for; None for all."""
    if item is None:
        return None if position is None else ItemKey(batch.key, position)
    if position is not None:
        raise InvalidRequest("item and position exclude each other; give one of them", field="position")
    return ItemKey.within(batch.key, item)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
