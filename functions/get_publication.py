"""GET /v1/publications/{batchId}"""

from typing import Any

from fanin.api.answers.documents import answers
from fanin.api.answers.publication_answers import PublicationAnswer
from fanin.api.edge import BatchId, caller
from functions.api.reading import reading_edge
from functions.wiring import s3_publications

app = reading_edge()


@app.get(
    "/v1/publications/<batchId>",
    operation_id="getPublication",
    summary="Get a publication",
    responses=answers(200, PublicationAnswer, 400, 403, 404, 429, 503),
)
def get_publication(batch_id: BatchId) -> PublicationAnswer:
    """Return how far the publication of a batch is."""
    return PublicationAnswer.of(*s3_publications.publications().get(caller(app).tenant, batch_id))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
