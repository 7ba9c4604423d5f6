"""POST /v1/tasks"""

from typing import Any

from fanin import names
from fanin.api.documents import answers
from fanin.api.edge import IdempotencyKey, bind, caller, edge
from fanin.api.group_answers import RegisteredTask
from fanin.api.group_requests import RegisterTaskBody
from fanin.aws import clients
from functions.metrics.counts import count, measured
from functions.wiring import grouping, tracking
from functions.wiring.starting import at_start

at_start(clients.sqs)
app = edge(tracking.settings)


@app.post(
    "/v1/tasks",
    status_code=202,
    operation_id="registerTask",
    summary="Register a task",
    responses=answers(202, RegisteredTask, 400, 403, 413, 415, 422, 503),
)
def register_task(body: RegisterTaskBody, idempotency_key: IdempotencyKey = None) -> RegisteredTask:
    """Register a task, which is processed in one call with others of its target. A taskId names one task."""
    who = caller(app)
    if body.task_id is not None:
        bind(tracking.tracker(), who, "tasks", idempotency_key, body.said())
    task = grouping.grouper().register(who.tenant, body.new_task(idempotency_key))
    count({names.TASKS_REGISTERED: 1})
    return RegisteredTask.of(task)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
