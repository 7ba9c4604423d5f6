"""GET /v1/bundles"""

from typing import Any

from fanin.api import cursors
from fanin.api.documents import answers
from fanin.api.edge import Cursor, ListLimit, OfTarget, caller, edge
from fanin.api.group_answers import ListedBundles
from fanin.api.group_listing import bundles
from functions.wiring import grouping, tracking

app = edge(tracking.settings, query=("target", "limit", "cursor"))


@app.get(
    "/v1/bundles",
    operation_id="listBundles",
    summary="List a target's bundles",
    responses=answers(200, ListedBundles, 400, 403, 503),
)
def list_bundles(target: OfTarget, limit: ListLimit = 20, cursor: Cursor = None) -> ListedBundles:
    """List bundles of a target, shard by shard, the newest first; eventually consistent."""
    start = cursors.term_at(cursor)
    return ListedBundles.of(*bundles(grouping.grouper(), caller(app).tenant, target, limit, start))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
