"""POST /v1/queues/{queue}/pause"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.job_answers import QueueFacts
from fanin.api.edge import QueueName, caller, edge
from fanin.queue.administration.changing import pause
from functions.wiring import queueing, tracking

app = edge(tracking.settings)


@app.post(
    "/v1/queues/<queue>/pause",
    operation_id="pauseQueue",
    summary="Pause a work queue",
    responses=answers(200, QueueFacts, 400, 403, 404, 413, 415, 503),
)
def pause_queue(queue: QueueName) -> QueueFacts:
    """Pause a queue: it takes adds and acks, and no job of it is claimed; a repeat changes nothing.

    Workers read the change within a second, Lambda functions with their next invocation.
    """
    context = queueing.existing(caller(app).tenant, queue).context
    return QueueFacts.of_config(queue, pause(context))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
