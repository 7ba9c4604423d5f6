"""GET /v1/progress, which a progress token authorizes: for pages of any origin"""

from typing import Any

from fanin.api.answers.batch_answers import WatchedBatch
from fanin.api.answers.documents import answers
from fanin.api.edge import TokenText, edge
from functions.wiring import tracking

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}

app = edge(None, query=("token",))


@app.get(
    "/v1/progress",
    operation_id="getProgress",
    summary="Get the progress of a token's batch",
    responses=answers(200, WatchedBatch, 400, 404, 503),
)
def get_progress(token: TokenText) -> WatchedBatch:
    """Return the state and progress of the batch, for the holder of a token, without another credential.

    Pages of any origin may ask. Ask again after `retryAfterSeconds`, until the answer has none.
    """
    return WatchedBatch.of(tracking.tracker().watched(token))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    answer = app.resolve(event, context)
    return answer | {"headers": answer["headers"] | ANY_ORIGIN}
