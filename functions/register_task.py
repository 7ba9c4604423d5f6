"""POST /v1/tasks"""

from http import HTTPStatus
from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.group_answers import RegisteredTask, RegisteredTasks
from fanin.api.edge import IdempotencyKey, caller, edge
from fanin.api.requests.group_requests import RegisterTaskBody
from fanin.aws import clients
from fanin.grouper import NewTask
from functions.invocation_metrics.created import counting_tasks
from functions.invocation_metrics.measuring import measured
from functions.wiring import grouping, tracking
from functions.wiring.quotas import charge
from functions.wiring.starting import at_start

at_start(clients.sqs)
app = edge(tracking.settings)


@app.post(
    "/v1/tasks",
    status_code=202,
    operation_id="registerTask",
    summary="Register a task, or up to 100",
    responses=answers(202, RegisteredTask, 400, 403, 413, 415, 422, 429, 503) | answers(200, RegisteredTasks),
)
def register_task(
    body: RegisterTaskBody, idempotency_key: IdempotencyKey = None
) -> RegisteredTask | tuple[RegisteredTasks, int]:
    """Register a task, which is processed in one call with others of its target. A taskId names one task.

    Of several *tasks* each is registered by itself: the answer, 200, has a result for each, in their order.
    """
    who = caller(app)
    if body.tasks is not None or body.task_id is not None:
        tracking.tracker().bind_key(who.tenant, "tasks", idempotency_key, body.canonical())
    new_tasks = body.new_tasks(idempotency_key)
    charge(who.tenant, "tasks", len(new_tasks))
    if body.tasks is None:
        return _one(who.tenant, new_tasks[0])
    results = counting_tasks(grouping.registering()).register_all(who.tenant, new_tasks)
    return RegisteredTasks.of(new_tasks, results), HTTPStatus.OK


def _one(tenant: str, new_task: NewTask) -> RegisteredTask:
    task = counting_tasks(grouping.registering()).register(tenant, new_task)
    return RegisteredTask.of(task)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
