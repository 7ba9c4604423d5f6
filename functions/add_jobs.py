"""POST /v1/queues/{queue}/jobs"""

from typing import Any

from fanin import names
from fanin.api.answers.documents import answers
from fanin.api.answers.job_answers import AddedJobs
from fanin.api.edge import IdempotencyKey, QueueName, caller, edge
from fanin.api.requests.job_requests import AddJobsBody
from fanin.aws import clients
from functions.invocation_metrics.created import counting_jobs
from functions.invocation_metrics.measuring import count, measured
from functions.wiring import queueing, tracking
from functions.wiring.quotas import charge
from functions.wiring.starting import at_start

at_start(clients.sqs)
app = edge(tracking.settings)


@app.post(
    "/v1/queues/<queue>/jobs",
    operation_id="addJobs",
    summary="Add jobs to a work queue",
    responses=answers(200, AddedJobs, 400, 403, 409, 413, 415, 422, 429, 503),
)
def add_jobs(queue: QueueName, body: AddJobsBody, idempotency_key: IdempotencyKey = None) -> AddedJobs:
    """Add each job, unless a job of its key is queued, in progress or delayed: then it is rejected.

    A queue is created by its first use; one that is being removed answers 409. With an idempotency key the
    request can be repeated for an hour.
    """
    who = caller(app)
    tracking.tracker().bind_key(who.tenant, "jobs", idempotency_key, f"{queue}\n{body.canonical()}")
    jobs = body.new_jobs(idempotency_key)
    charge(who.tenant, "jobs", len(jobs))
    rejected = counting_jobs(queueing.created(who.tenant, queue)).add_all(jobs, on_busy=body.on_busy)
    answer = AddedJobs.of(jobs, rejected)
    count({names.JOBS_REJECTED: len(answer.rejected)})
    return answer


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
