"""The routes that read work queues, their jobs and their sessions."""

from functions import get_queue, list_jobs, list_queues, list_sessions
from functions.api.routing import by_route

handler = by_route(
    {
        "GET /v1/queues/{queue}/jobs": list_jobs.handler,
        "GET /v1/queues": list_queues.handler,
        "GET /v1/queues/{queue}": get_queue.handler,
        "GET /v1/queues/{queue}/sessions": list_sessions.handler,
    }
)
