"""GET /v1/tasks/{taskId}"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.group_answers import TaskAnswer
from fanin.api.edge import TaskId, caller
from functions.api.reading import reading_edge
from functions.wiring import grouping

app = reading_edge()


@app.get(
    "/v1/tasks/<taskId>",
    operation_id="getTask",
    summary="Get a task",
    responses=answers(200, TaskAnswer, 400, 403, 404, 429, 503),
)
def get_task(task_id: TaskId) -> TaskAnswer:
    """Return a task: its state, and its reason if it failed."""
    task = grouping.grouper().task(caller(app).tenant, task_id)
    return TaskAnswer.of(task, grouping.grouper().status(task))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
