"""GET /v1/targets"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.group_answers import ListedTargets
from fanin.api.cursors import target_cursors
from fanin.api.edge import Cursor, ListLimit, caller
from functions.api.reading import reading_edge
from functions.wiring import grouping

app = reading_edge(query=("limit", "cursor"))


@app.get(
    "/v1/targets",
    operation_id="listTargets",
    summary="List the targets of tasks",
    responses=answers(200, ListedTargets, 400, 403, 429, 503),
)
def list_targets(limit: ListLimit = 20, cursor: Cursor = None) -> ListedTargets:
    """List the tenant's targets by name: what waits, what is in flight, when the next bundle is filled.

    A target is listed from its first bundle on. Counts are bounded: a page reads the first 100 waiting tasks
    of each lane and the newest bundles.
    """
    after = target_cursors.target_at(cursor)
    return ListedTargets.of(grouping.grouper().targets(caller(app).tenant, limit, after))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
