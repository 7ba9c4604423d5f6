"""The routes that revive and delete jobs, and remove work queues."""

from functions import delete_jobs, remove_queue, revive_jobs
from functions.api.routing import by_route

handler = by_route(
    {
        "POST /v1/queues/{queue}/dead/revive": revive_jobs.handler,
        "POST /v1/queues/{queue}/jobs/delete": delete_jobs.handler,
        "DELETE /v1/queues/{queue}": remove_queue.handler,
    }
)
