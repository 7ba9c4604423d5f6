"""POST /v1/acks"""

from typing import Any

from fanin.api.answers.batch_answers import AckedItems
from fanin.api.answers.documents import answers
from fanin.api.edge import IdempotencyKey, caller, edge
from fanin.api.requests.batch_requests import AckItemsBody
from functions.invocation_metrics.counts import count_verdicts, measured
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
    acks = [entry.ack(token) for entry in entries]
    if body.dry_run:
        return AckedItems.of(entries, tracker.verdicts(who.tenant, acks), token)
    report = tracker.ack(who.tenant, acks, idempotency_key)
    count_verdicts(pair for result in report.results for pair in result.counts.items())
    return AckedItems.of(entries, report, token)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
