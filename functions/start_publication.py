"""POST /v1/publications"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.publication_answers import PublicationAnswer
from fanin.api.bus_events.workflow_callbacks import resumable
from fanin.api.edge import IdempotencyKey, caller, edge
from fanin.api.requests.publication_requests import StartPublicationBody
from functions.invocation_metrics.created import counting_batches
from functions.invocation_metrics.measuring import measured
from functions.wiring import s3_publications, tracking
from functions.wiring.deployed import check_callback, resumes

app = edge(tracking.settings)


@app.post(
    "/v1/publications",
    status_code=202,
    operation_id="startPublication",
    summary="Publish an object",
    responses=answers(202, PublicationAnswer, 400, 403, 409, 413, 415, 422, 429, 503),
)
def start_publication(
    body: StartPublicationBody, idempotency_key: IdempotencyKey = None
) -> PublicationAnswer:
    """Open a batch, and publish the rows of an object of S3 as its items, in the background.

    The batch is closed after the last row. Cancelling it stops the publication. The setting `publications` of
    the stack allows sources, queues and tenants.
    """
    tenant = caller(app).tenant
    order, spec = body.order(tenant), resumable(body.spec(), resumes)
    s3_publications.check(order)
    check_callback(spec.callback, tenant, tracking.settings().tenant)
    batch, position = s3_publications.publications(counting_batches).start(order, spec, idempotency_key)
    return PublicationAnswer.of(batch, position)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
