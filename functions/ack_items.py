"""POST /v1/acks"""

from typing import Any

from fanin.api.answers import AckedItems
from fanin.api.documents import answers
from fanin.api.edge import IdempotencyKey, bind, caller, edge
from fanin.api.requests import AckItemsBody
from functions.metrics.counts import count_verdicts, measured
from functions.wiring import tracking

app = edge(tracking.settings)


@app.post(
    "/v1/acks",
    operation_id="ackItems",
    summary="Ack items as done or failed",
    responses=answers(200, AckedItems, 400, 403, 413, 415, 422, 503),
)
def ack_items(body: AckItemsBody, idempotency_key: IdempotencyKey = None) -> AckedItems:
    """Ack items of any batches, in any order. A repeated ack has the verdict `duplicate`."""
    who, entries = caller(app), body.entries()
    token, tracker = who.token("acks", idempotency_key), tracking.tracker()
    bind(tracker, who, "acks", idempotency_key, body.payload())
    report = tracker.ack(who.tenant, [entry.ack(token) for entry in entries])
    count_verdicts(pair for result in report.results for pair in result.counts.items())
    return AckedItems.of(entries, report, token)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
