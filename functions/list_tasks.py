"""GET /v1/tasks"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.documents import answers
from fanin.api.answers.group_answers import ListedTasks
from fanin.api.edge import Cursor, ListLimit, OfTarget, caller
from fanin.api.target_lists import tasks
from fanin.grouper import Status
from functions.api.reading import reading_edge
from functions.wiring import grouping

OfState = Annotated[Status, Query(alias="state", description="The state of the tasks to list.")]

app = reading_edge(query=("target", "state", "limit", "cursor"))


@app.get(
    "/v1/tasks",
    operation_id="listTasks",
    summary="List a target's tasks in a state",
    responses=answers(200, ListedTasks, 400, 403, 429, 503),
)
def list_tasks(
    target: OfTarget, state: OfState = Status.CREATED, limit: ListLimit = 20, cursor: Cursor = None
) -> ListedTasks:
    """List tasks of a target in a state, by default those that wait for a bundle; eventually consistent.

    Waiting tasks come by priority, then due time; others with their bundles, the newest first. A page reads a
    bounded number of bundles, so it may be short or empty; the list ends when there is no cursor.
    """
    tenant = caller(app).tenant
    return ListedTasks.of(*tasks(grouping.grouper(), tenant, target, state, limit, cursor))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
