"""The routes that add jobs, and create, change, pause and resume work queues."""

from functions import add_jobs, pause_queue, put_queue, resume_queue
from functions.api.routing import by_route

handler = by_route(
    {
        "POST /v1/queues/{queue}/jobs": add_jobs.handler,
        "PUT /v1/queues/{queue}": put_queue.handler,
        "POST /v1/queues/{queue}/pause": pause_queue.handler,
        "POST /v1/queues/{queue}/resume": resume_queue.handler,
    }
)
