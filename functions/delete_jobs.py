"""POST /v1/queues/{queue}/jobs/delete"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.queue_answers import DeletedJobs
from fanin.api.edge import QueueName, caller, edge
from fanin.api.requests.queue_requests import DeleteJobsBody
from fanin.queue.administration import changing
from functions.wiring import queueing, tracking

app = edge(tracking.settings)


@app.post(
    "/v1/queues/<queue>/jobs/delete",
    operation_id="deleteJobs",
    summary="Delete jobs of a work queue",
    responses=answers(200, DeletedJobs, 400, 403, 404, 409, 413, 415, 503),
)
def delete_jobs(queue: QueueName, body: DeleteJobsBody) -> DeletedJobs:
    """Delete queued and delayed jobs by their keys, and dead ones by their ids, each by itself.

    The items of queued and delayed jobs fail with the reason `the job was deleted`; those of dead jobs failed
    before. A job in progress stays. The request can be repeated: a deleted job is `notFound`.
    """
    records = body.records()
    context = queueing.existing(caller(app).tenant, queue).context
    jobs = changing.delete_jobs(context, body.keys) if body.keys else {}
    return DeletedJobs.of(jobs, changing.delete_dead(context, records))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
