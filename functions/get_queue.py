"""GET /v1/queues/{queue}"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.queue_answers import QueueStatusAnswer
from fanin.api.edge import QueueName, caller
from fanin.queue.administration.describing import status_of
from functions.api.reading import reading_edge
from functions.wiring import queueing

app = reading_edge()


@app.get(
    "/v1/queues/<queue>",
    operation_id="getQueue",
    summary="Get a work queue",
    responses=answers(200, QueueStatusAnswer, 400, 403, 404, 429, 503),
)
def get_queue(queue: QueueName) -> QueueStatusAnswer:
    """Get a work queue with its config, its depth and the wait of its oldest queued job."""
    return QueueStatusAnswer.of(status_of(queueing.existing(caller(app).tenant, queue).context))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
