"""The routes that read tasks, bundles and targets."""

from functions import get_bundle, get_task, list_bundles, list_targets, list_tasks
from functions.api.routing import by_route

handler = by_route(
    {
        "GET /v1/tasks": list_tasks.handler,
        "GET /v1/tasks/{taskId}": get_task.handler,
        "GET /v1/bundles": list_bundles.handler,
        "GET /v1/bundles/{bundleId}": get_bundle.handler,
        "GET /v1/targets": list_targets.handler,
    }
)
