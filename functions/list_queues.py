"""GET /v1/queues"""

from typing import Any

from fanin.api import row_cursors
from fanin.api.documents import answers
from fanin.api.edge import QueueLimit, RowCursor, caller, edge
from fanin.api.queue_answers import ListedQueues
from fanin.queue import Queue
from fanin.queue.config import QueueConfig
from fanin.queue.describing import CountedDepth, QueueStatus, describe
from functions.wiring import queueing, tracking

app = edge(tracking.settings, query=("limit", "cursor"))


@app.get(
    "/v1/queues",
    operation_id="listQueues",
    summary="List work queues",
    responses=answers(200, ListedQueues, 400, 403, 503),
)
def list_queues(limit: QueueLimit = 20, cursor: RowCursor = None) -> ListedQueues:
    """List the caller's work queues in the order of their names, sleeping ones too.

    The depth of each is the one that its last sweep counted, at `countedAt`; a queue that no sweep has
    visited yet is counted now. A queue that was created or removed a few seconds ago can be missing, or make
    a page shorter.
    """
    after = row_cursors.queue_at(cursor)
    found = queueing.of_tenant(caller(app).tenant, after, limit + 1)
    seen = queueing.registry().seen([queue.key for queue in found[:limit]])
    page = [_status(queue, *seen[queue.key]) for queue in found[:limit] if queue.key in seen]
    last = found[limit - 1].key.name if len(found) > limit else None
    return ListedQueues.of([status for status in page if status is not None], last)


def _status(queue: Queue, config: QueueConfig, counted: CountedDepth | None) -> QueueStatus | None:
    if counted is None:
        return describe(queue.context)
    return QueueStatus(queue.key.name, config, counted.depth, counted.at_us)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
