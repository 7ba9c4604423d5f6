"""GET /v1/bundles/{bundleId}"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.group_answers import BundleAnswer
from fanin.api.edge import BundleId, caller
from functions.api.reading import reading_edge
from functions.wiring import grouping

app = reading_edge()


@app.get(
    "/v1/bundles/<bundleId>",
    operation_id="getBundle",
    summary="Get a bundle",
    responses=answers(200, BundleAnswer, 400, 403, 404, 429, 503),
)
def get_bundle(bundle_id: BundleId) -> BundleAnswer:
    """Return a bundle: its state, its members and their verdicts."""
    return BundleAnswer.with_members(grouping.grouper().bundle(caller(app).tenant, bundle_id))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
