"""GET /v1/queues/{queue}/sessions"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.queue_answers import ListedSessions
from fanin.api.cursors import queue_cursors
from fanin.api.edge import ListLimit, QueueName, RowCursor, caller
from functions.api.reading import reading_edge
from functions.wiring import queueing

app = reading_edge(query=("limit", "cursor"))


@app.get(
    "/v1/queues/<queue>/sessions",
    operation_id="listSessions",
    summary="List the sessions of a work queue",
    responses=answers(200, ListedSessions, 400, 403, 404, 429, 503),
)
def list_sessions(queue: QueueName, limit: ListLimit = 20, cursor: RowCursor = None) -> ListedSessions:
    """List the stored sessions of workers and of Lambda invocations, in the order of their ids.

    A session that was ended is listed with `live` false until its claims are freed.
    """
    after = queue_cursors.session_at(cursor)
    context = queueing.existing(caller(app).tenant, queue).context
    return ListedSessions.of(context.store.members_after(context.key, after, limit + 1), limit)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
