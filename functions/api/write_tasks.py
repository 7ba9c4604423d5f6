"""The route that registers tasks."""

from functions import register_task
from functions.api.routing import by_route

handler = by_route(
    {
        "POST /v1/tasks": register_task.handler,
    }
)
