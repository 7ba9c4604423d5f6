"""GET /v1/progress, which a progress token authorizes: for pages of any origin"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header

from fanin.api.answers import event_stream
from fanin.api.answers.batch_answers import WatchedBatch
from fanin.api.answers.documents import answers
from fanin.api.edge import TokenText, edge
from functions.wiring import tracking

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}
ANSWERS = answers(200, WatchedBatch, 400, 404, 503)
ANSWERS[200]["content"][event_stream.MEDIA_TYPE] = {"model": event_stream.EventStream}
ANSWERS[204] = {"description": "The reader of events has seen the end, and stops.", "content": {}}
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="The id of the last event; EventSource sends it.")
]

app = edge(None, query=("token",))


@app.get(
    "/v1/progress",
    operation_id="getProgress",
    summary="Get the progress of a token's batch",
    responses=ANSWERS,
)
def get_progress(token: TokenText, last_event_id: LastEventId = None) -> Any:
    """Return the state and progress of the batch, for the holder of a token, without another credential.

    Pages of any origin may ask. Ask again after `retryAfterSeconds`, until the answer has none. With
    `Accept: text/event-stream` the answer is one server-sent event, after which EventSource asks again.
    """
    batch = WatchedBatch.of(tracking.tracker().watched(token))
    if not event_stream.is_preferred(app.current_event.headers.get("accept") or ""):
        return batch
    if event_stream.is_seen(batch, last_event_id):
        return Response(204, body="")
    return Response(200, event_stream.MEDIA_TYPE, event_stream.event_of(batch))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    answer = app.resolve(event, context)
    return answer | {"headers": answer["headers"] | ANY_ORIGIN}
