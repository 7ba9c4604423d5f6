"""GET /v1/queues"""

from typing import Any

from fanin.api import row_cursors
from fanin.api.documents import answers
from fanin.api.edge import QueueLimit, RowCursor, caller, edge
from fanin.api.queue_answers import ListedQueues
from fanin.queue.describing import describe
from functions.wiring import queueing, tracking

app = edge(tracking.settings, query=("limit", "cursor"))


@app.get(
    "/v1/queues",
    operation_id="listQueues",
    summary="List work queues",
    responses=answers(200, ListedQueues, 400, 403, 503),
)
def list_queues(limit: QueueLimit = 20, cursor: RowCursor = None) -> ListedQueues:
    """List the caller's work queues in the order of their names, each with its depth; sleeping ones too.

    A queue that was created or removed a few seconds ago can be missing, or make a page shorter.
    """
    after = row_cursors.queue_at(cursor)
    found = queueing.of_tenant(caller(app).tenant, after, limit + 1)
    page = [describe(queue.context) for queue in found[:limit]]
    last = found[limit - 1].key.name if len(found) > limit else None
    return ListedQueues.of([status for status in page if status is not None], last)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
