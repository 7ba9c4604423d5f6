"""POST /v1/acks"""

from typing import Any

from fanin.api.answers import AckedItems
from fanin.api.documents import answers
from fanin.api.edge import IdempotencyKey, caller, edge
from fanin.api.requests import AckItemsBody
from functions import wiring

app = edge(wiring.settings)


@app.post(
    "/v1/acks",
    operation_id="ackItems",
    summary="Mark items done",
    responses=answers(200, AckedItems, 400, 403, 413, 415, 503),
)
def ack_items(body: AckItemsBody, idempotency_key: IdempotencyKey = None) -> AckedItems:
    """Mark items done; of this or that batch, in any order, as often as you like."""
    who, words = caller(app), body.words()
    token = who.token(idempotency_key)
    report = wiring.tracker().ack(who.tenant, [word.ack(token) for word in words])
    return AckedItems.of(words, report, token)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
