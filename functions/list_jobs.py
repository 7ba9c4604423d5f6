"""GET /v1/queues/{queue}/jobs"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.documents import answers
from fanin.api.answers.job_answers import Listed, ListedJobs
from fanin.api.cursors import queue_cursors
from fanin.api.edge import ListLimit, QueueName, RowCursor, caller
from fanin.queue.administration import paging
from fanin.queue.rules import order
from functions.api.reading import reading_edge
from functions.wiring import queueing

app = reading_edge(query=("state", "limit", "cursor"))

LISTS = {Listed(state.shown): state for state in paging.PREFIXES}
PREFIXES = {Listed.DEAD: order.DEAD} | {each: paging.PREFIXES[state] for each, state in LISTS.items()}
OfState = Annotated[Listed, Query(alias="state", description="The state of the jobs to list.")]


@app.get(
    "/v1/queues/<queue>/jobs",
    operation_id="listJobs",
    summary="List the jobs of a work queue",
    responses=answers(200, ListedJobs, 400, 403, 404, 429, 503),
)
def list_jobs(
    queue: QueueName, state: OfState = Listed.QUEUED, limit: ListLimit = 20, cursor: RowCursor = None
) -> ListedJobs:
    """List the jobs in a state, in the order of the queue, with their metrics.

    Queued jobs are ordered by priority, then by the time of their add; jobs in progress by their session,
    then by when they were claimed; delayed jobs by when they are due, dead jobs by when they died. A job that
    changes its state meanwhile can be missing.
    """
    after = queue_cursors.row_at(cursor, PREFIXES[state])
    context = queueing.existing(caller(app).tenant, queue).context
    now = context.effects.now()
    if state is Listed.DEAD:
        return ListedJobs.of_dead(paging.dead(context, limit, after), now)
    return ListedJobs.of(paging.jobs(context, LISTS[state], limit, after), now)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
