"""POST /v1/queues/{queue}/dead/revive"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.queue_answers import RevivedAnswer
from fanin.api.cursors import queue_cursors
from fanin.api.edge import QueueName, caller, edge
from fanin.api.requests.queue_requests import ReviveBody
from fanin.queue.administration.changing import revive_all, revive_some
from fanin.queue.rules import order
from functions.wiring import queueing, tracking

app = edge(tracking.settings)


@app.post(
    "/v1/queues/<queue>/dead/revive",
    operation_id="reviveJobs",
    summary="Revive dead jobs of a work queue",
    responses=answers(200, RevivedAnswer, 400, 403, 404, 409, 413, 415, 503),
)
def revive_jobs(queue: QueueName, body: ReviveBody) -> RevivedAnswer:
    """Return dead jobs to their old positions, without failures.

    A job stays dead while another one of its key is queued, in progress or delayed: `liveJob`. The request
    can be repeated: a job that was revived before is `notFound`. Where the answer to `all` has a `cursor`,
    there are more; the next request passes it.
    """
    records, after = body.records(), queue_cursors.row_at(body.cursor, order.DEAD)
    found = queueing.ringing(caller(app).tenant, queue)
    return RevivedAnswer.of(revive_all(found, after) if body.all else revive_some(found, records))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
