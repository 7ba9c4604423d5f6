"""GET /v1/queues"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.queue_answers import ListedQueues
from fanin.api.cursors import queue_cursors
from fanin.api.edge import QueueLimit, RowCursor, caller
from fanin.queue import Queue
from fanin.queue.administration.describing import CountedDepth, QueueStatus, describe
from fanin.queue.rules.config import QueueConfig
from functions.api.reading import reading_edge
from functions.wiring import queueing

app = reading_edge(query=("limit", "cursor"))


@app.get(
    "/v1/queues",
    operation_id="listQueues",
    summary="List work queues",
    responses=answers(200, ListedQueues, 400, 403, 429, 503),
)
def list_queues(limit: QueueLimit = 20, cursor: RowCursor = None) -> ListedQueues:
    """List the caller's work queues in the order of their names, sleeping ones too.

    The depth of each is the one that its last sweep counted, at `countedAt`; a queue that no sweep has
    visited yet is counted now. A queue that was created or removed a few seconds ago can be missing, or make
    a page shorter.
    """
    after = queue_cursors.queue_at(cursor)
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
