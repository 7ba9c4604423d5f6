"""PUT /v1/queues/{queue}"""

from http import HTTPStatus
from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.job_answers import QueueAnswer
from fanin.api.edge import QueueName, caller, edge
from fanin.api.requests.job_requests import QueueBody
from fanin.queue import QueueKey
from functions.wiring import queueing, tracking

app = edge(tracking.settings)


@app.put(
    "/v1/queues/<queue>",
    operation_id="putQueue",
    summary="Create or update a work queue",
    responses=answers(200, QueueAnswer, 400, 403, 409, 413, 415, 429, 503)
    | {201: answers(201, QueueAnswer)[201]},
)
def put_queue(queue: QueueName, body: QueueBody = QueueBody()) -> tuple[QueueAnswer, int]:
    """Create the queue with its doorbell: 201; of a queue that exists, change the settings of the body: 200.

    Parts can be raised while the queue works, and not lowered: 409. A raise takes over two hours.
    The request can be repeated. An add to a queue that does not exist creates it with the defaults.
    """
    key = QueueKey(caller(app).tenant, queue)
    creator = queueing.creator()
    found = creator.ensure(key, body.parts, body.metrics)
    if found.config.doorbell is not None and not found.is_new:
        creator.doorbells.update(key, found.config.doorbell)
    return QueueAnswer.of(key, found), HTTPStatus.CREATED if found.is_new else HTTPStatus.OK


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
