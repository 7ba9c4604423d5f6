"""GET /v1/batches"""

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.batch_answers import ListedBatches
from fanin.api.answers.documents import answers
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import Cursor, ListLimit, caller
from fanin.api.requests.batch_requests import Label, UserKey
from fanin.api.requests.repair_requests import OpenedFrom, OpenedTo, instant_of
from fanin.tracker import ListQuery, State
from fanin.tracker.rules.filters import Condition
from functions.api.reading import reading_edge
from functions.wiring import tracking

ByUserKey = Annotated[UserKey | None, Query(alias="userKey", description="Only batches of this user key.")]
ByUserKeyPrefix = Annotated[
    UserKey | None,
    Query(alias="userKeyPrefix", description="Only batches whose user key begins so; not with `userKey`."),
]
ByState = Annotated[
    Literal["OPEN", "CLOSED", "COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT"] | None,
    Query(alias="state", description="Only batches in this state."),
]
ByCondition = Annotated[
    Condition | None,
    Query(
        alias="condition",
        description="Only batches that are `live`; that have `problems`: are live, with failed items or"
        " stalled; or that `endedBadly`: before all items were done, or enough, or with failed ones.",
    ),
]
ByLabel = Annotated[
    Label | None, Query(alias="label", description="Only batches with this label, `key:value`.")
]
FILTERS = ("userKey", "userKeyPrefix", "state", "condition", "label", "openedFrom", "openedTo")

app = reading_edge(query=(*FILTERS, "limit", "cursor"))


@app.get(
    "/v1/batches",
    operation_id="listBatches",
    summary="List batches, newest first",
    responses=answers(200, ListedBatches, 400, 403, 429, 503),
)
def list_batches(
    user_key: ByUserKey = None,
    user_key_prefix: ByUserKeyPrefix = None,
    state: ByState = None,
    condition: ByCondition = None,
    label: ByLabel = None,
    opened_from: OpenedFrom = None,
    opened_to: OpenedTo = None,
    limit: ListLimit = 20,
    cursor: Cursor = None,
) -> ListedBatches:
    """List the batches of the tenant that match all parameters, newest first; eventually consistent.

    `userKey`, `openedFrom` and `openedTo` are looked up; `userKeyPrefix`, `state`, `condition` and `label`
    are looked for in up to 16,000 batches, so a page may be short or empty and have a `cursor`.
    """
    query = ListQuery(
        user_key=user_key,
        user_key_prefix=user_key_prefix,
        state=State(state) if state else None,
        condition=condition,
        label=label,
        opened_from=opened_from and instant_of(opened_from, "openedFrom"),
        opened_to=opened_to and instant_of(opened_to, "openedTo"),
        limit=limit,
        after=cursors.batch_at(cursor),
    )
    return ListedBatches.of(tracking.tracker().list(caller(app).tenant, query))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
