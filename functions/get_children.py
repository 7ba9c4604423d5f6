"""GET /v1/batches/{batchId}/children"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.batch_answers import ListedChildren
from fanin.api.answers.documents import answers
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import BatchId, Cursor, ListLimit, caller
from fanin.api.requests.bodies import ItemIdText
from functions.api.reading import reading_edge
from functions.wiring import tracking

OfItem = Annotated[
    ItemIdText | None, Query(alias="itemId", description="Only the children of this item of the batch.")
]
AlsoDone = Annotated[bool, Query(description="Also those whose ends did not fail their items.")]
app = reading_edge(query=("itemId", "done", "limit", "cursor"))


@app.get(
    "/v1/batches/<batchId>/children",
    operation_id="getChildren",
    summary="List the children of a batch",
    responses=answers(200, ListedChildren, 400, 403, 404, 429, 503),
)
def get_children(
    batch_id: BatchId,
    item_id: OfItem = None,
    done: AlsoDone = False,
    limit: ListLimit = 20,
    cursor: Cursor = None,
) -> ListedChildren:
    """List the batches that items of a batch wait for, and those whose ends failed their items, by item.

    With `done`, those too whose ends did not fail their items, the first 100 of each item; nothing shows
    whether there are more. Each has its item as `parentItemId`. A page has all children of its last item, so
    it can exceed `limit`; it may be empty and have a `cursor`.
    """
    start, tracker = cursors.item_at(cursor), tracking.tracker()
    batch = tracker.get(caller(app).tenant, batch_id)
    return ListedChildren.of(tracker.children(batch, item_id, start, limit, done))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
