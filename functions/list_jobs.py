"""GET /v1/queues/{queue}/jobs"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.documents import answers
from fanin.api.edge import ListLimit, QueueName, caller, edge
from fanin.api.job_answers import Listed, ListedJobs
from functions.wiring import queueing, tracking

app = edge(tracking.settings, query=("state", "limit"))

OfState = Annotated[Listed, Query(alias="state", description="The state of the jobs to list.")]


@app.get(
    "/v1/queues/<queue>/jobs",
    operation_id="listJobs",
    summary="List the jobs of a work queue",
    responses=answers(200, ListedJobs, 400, 403, 503),
)
def list_jobs(queue: QueueName, state: OfState = Listed.QUEUED, limit: ListLimit = 20) -> ListedJobs:
    """List the first jobs in a state, in the order of the queue, with their metrics.

    Queued jobs and jobs in progress are ordered by priority, then by the time of their add; delayed jobs by
    when they are due, dead jobs by when they died. A queue that was never used has no jobs.
    """
    known = queueing.known(caller(app).tenant, queue)
    if known is None:
        return ListedJobs(jobs=[])
    now = known.context.effects.now()
    if state is Listed.DEAD:
        return ListedJobs.of_dead(known.dead(limit), now)
    look = {Listed.QUEUED: known.queued, Listed.IN_PROGRESS: known.in_progress, Listed.DELAYED: known.delayed}
    return ListedJobs.of(look[state](limit), now)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
