"""GET /v1/tasks/{taskId}"""

from typing import Any

from fanin.api.documents import answers
from fanin.api.edge import TaskId, caller, edge
from fanin.api.group_answers import TaskAnswer
from functions.wiring import grouping, tracking

app = edge(tracking.settings)


@app.get(
    "/v1/tasks/<taskId>",
    operation_id="getTask",
    summary="Get a task",
    responses=answers(200, TaskAnswer, 400, 403, 404, 503),
)
def get_task(task_id: TaskId) -> TaskAnswer:
    """Return a task: its state, and its reason if it failed."""
    task = grouping.grouper().task(caller(app).tenant, task_id)
    return TaskAnswer.of(task, grouping.grouper().status(task))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
