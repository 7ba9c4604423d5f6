"""POST /v1/batches/{batchId}/token"""

from datetime import timedelta
from typing import Any

from fanin.api.answers.batch_answers import IssuedToken
from fanin.api.answers.documents import answers
from fanin.api.edge import BatchId, caller
from fanin.api.requests.batch_requests import ProgressTokenBody
from functions.api.reading import reading_edge
from functions.wiring import tracking

app = reading_edge()


@app.post(
    "/v1/batches/<batchId>/token",
    operation_id="createProgressToken",
    summary="Create a progress token of a batch",
    responses=answers(200, IssuedToken, 400, 403, 404, 413, 415, 429, 503),
)
def create_progress_token(batch_id: BatchId, body: ProgressTokenBody = ProgressTokenBody()) -> IssuedToken:
    """Return a token with which a web page can read the progress of the batch; nothing is stored.

    With the setting `progress_tokens`. A token cannot be withdrawn, but by deleting the batch.
    """
    lifetime = timedelta(seconds=body.expires_seconds)
    return IssuedToken.of(tracking.tracker().progress_token(caller(app).tenant, batch_id, lifetime))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
