"""GET /v1/batches"""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api import cursors
from fanin.api.answers import ListedBatches
from fanin.api.documents import answers
from fanin.api.edge import Cursor, ListLimit, caller, edge
from fanin.api.requests import Label, UserKey
from fanin.tracker import ListQuery, State
from functions.wiring import tracking

ByUserKey = Annotated[UserKey | None, Query(alias="userKey", description="Only batches of this user key.")]
ByState = Annotated[
    Literal["OPEN", "CLOSED", "COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT"] | None,
    Query(alias="state", description="Only batches in this state."),
]

ByLabel = Annotated[
    Label | None, Query(alias="label", description="Only batches with this label, `key:value`.")
]

app = edge(tracking.settings, query=("userKey", "state", "label", "limit", "cursor"))


@app.get(
    "/v1/batches",
    operation_id="listBatches",
    summary="List batches, newest first",
    responses=answers(200, ListedBatches, 400, 403, 503),
)
def list_batches(
    user_key: ByUserKey = None,
    state: ByState = None,
    label: ByLabel = None,
    limit: ListLimit = 20,
    cursor: Cursor = None,
) -> ListedBatches:
    """List the batches of the tenant, newest first. The list is eventually consistent."""
    query = ListQuery(
        user_key=user_key,
        state=State(state) if state else None,
        label=label,
        limit=limit,
        after=cursors.batch_at(cursor),
    )
    return ListedBatches.of(tracking.tracker().list(caller(app).tenant, query))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
