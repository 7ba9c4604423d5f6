"""GET /v1/bundles"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query

from fanin.api.answers.documents import answers
from fanin.api.answers.group_answers import ListedBundles
from fanin.api.cursors import list_cursors as cursors
from fanin.api.edge import Cursor, ListLimit, OfTarget, caller
from fanin.api.target_lists import bundles
from fanin.grouper import BundleState
from functions.api.reading import reading_edge
from functions.wiring import grouping

OfState = Annotated[BundleState | None, Query(alias="state", description="Only bundles in this state.")]

app = reading_edge(query=("target", "state", "limit", "cursor"))


@app.get(
    "/v1/bundles",
    operation_id="listBundles",
    summary="List a target's bundles",
    responses=answers(200, ListedBundles, 400, 403, 429, 503),
)
def list_bundles(
    target: OfTarget, state: OfState = None, limit: ListLimit = 20, cursor: Cursor = None
) -> ListedBundles:
    """List bundles of a target, shard by shard, the newest first; eventually consistent.

    With a *state*, a page has those of the next *limit* bundles that are in it, so it may be empty.
    """
    tenant, start = caller(app).tenant, cursors.term_at(cursor)
    return ListedBundles.of(*bundles(grouping.grouper(), tenant, target, state, limit, start))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
