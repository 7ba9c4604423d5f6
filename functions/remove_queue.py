"""DELETE /v1/queues/{queue}"""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.documents import answers
from fanin.api.answers.job_answers import RemovedQueue
from fanin.api.edge import QueueName, caller, edge
from fanin.queue.administration import removing
from functions.invocation_metrics.counts import measured
from functions.wiring import queueing, tracking

app = edge(tracking.settings, query=("force",))

Force = Annotated[
    Literal["true", "false"],
    Query(
        alias="force", description="`true`: remove the queue also while it has live jobs; their items fail."
    ),
]


@app.delete(
    "/v1/queues/<queue>",
    status_code=202,
    operation_id="removeQueue",
    summary="Remove a work queue",
    responses=answers(202, RemovedQueue, 400, 403, 404, 409, 503),
)
def remove_queue(queue: QueueName, force: Force = "false") -> RemovedQueue:
    """Remove a queue with its jobs, dead jobs and sessions, within some 20 minutes; a repeat changes nothing.

    A queue with jobs that are queued, in progress or delayed is refused with 409 without `force=true`. Adds
    are refused with 409 until the queue is gone; then its name can be used again.
    """
    found = queueing.existing(caller(app).tenant, queue)
    removing.begin(found.context, force=force == "true")
    return RemovedQueue(queue=queue, state="REMOVING")


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
