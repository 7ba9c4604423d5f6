"""GET /v1/tasks"""

from typing import Any

from fanin.api.documents import answers
from fanin.api.edge import ListLimit, OfTarget, caller, edge
from fanin.api.group_answers import OpenTasks
from functions.wiring import grouping, tracking

app = edge(tracking.settings, query=("target", "limit"))


@app.get(
    "/v1/tasks",
    operation_id="listTasks",
    summary="List the tasks that wait for a bundle",
    responses=answers(200, OpenTasks, 400, 403, 503),
)
def list_tasks(target: OfTarget, limit: ListLimit = 20) -> OpenTasks:
    """List tasks of a target that wait for a bundle, up to *limit* of each shard; eventually consistent."""
    return OpenTasks.of(grouping.grouper().open_tasks(caller(app).tenant, target, limit))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
