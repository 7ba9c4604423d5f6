"""POST /v1/queues/{queue}/resume"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.job_answers import QueueFacts
from fanin.api.edge import QueueName, caller, edge
from fanin.queue.administration.changing import resume
from functions.wiring import queueing, tracking

app = edge(tracking.settings)


@app.post(
    "/v1/queues/<queue>/resume",
    operation_id="resumeQueue",
    summary="Resume a work queue",
    responses=answers(200, QueueFacts, 400, 403, 404, 413, 415, 503),
)
def resume_queue(queue: QueueName) -> QueueFacts:
    """Resume a queue, and ring for its queued jobs; a repeat changes nothing."""
    context = queueing.ringing(caller(app).tenant, queue).context
    return QueueFacts.of_config(queue, resume(context))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
