"""GET /v1/health"""

from contextlib import suppress
from typing import Any
from uuid import UUID

from fanin.api.answers.batch_answers import Health
from fanin.api.answers.documents import answers
from fanin.api.edge import caller, edge
from fanin.errors import NotFound
from functions.wiring import tracking

app = edge(tracking.settings)
NO_BATCH = str(UUID(int=0))


@app.get(
    "/v1/health",
    operation_id="getHealth",
    summary="Say whether the service answers",
    responses=answers(200, Health, 403, 503),
)
def get_health() -> Health:
    """Read the table of batches once: 200 if it answers, 503 if not. No quota counts it."""
    with suppress(NotFound):
        tracking.tracker().get(caller(app).tenant, NO_BATCH)
    return Health(status="ok")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
