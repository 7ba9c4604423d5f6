"""The request body of a publication."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from fanin.api.requests.option_types import given_options, options_body
from fanin.s3_publications.model import RATE_MAX, RATE_MIN, Order
from fanin.tracker.reads.window import WINDOW_MAX
from fanin.tracker.rules.options import GRAPHIC, PUBLISHED, OpenBatch

_BatchOptions: Any = options_body("PublicationOptions", PUBLISHED, defaults=True)


class StartPublicationBody(_BatchOptions):  # type: ignore[misc]  # made from the table of options
    """What to publish: the rows of the object *source* as items, and as messages to *queue*."""

    source: Annotated[
        str,
        StringConstraints(max_length=1_100),
        Field(description="`s3://BUCKET/KEY` of `.jsonl`, `.ndjson` or `.csv`, in printable ASCII."),
    ]
    queue: Annotated[
        str, StringConstraints(max_length=200), Field(description="The ARN of a standard queue of SQS.")
    ]
    chunk: Annotated[
        int | None, Field(ge=1, le=WINDOW_MAX, description="Rows of a message; by default one alone.")
    ] = None
    rate: Annotated[
        float | None, Field(ge=RATE_MIN, le=RATE_MAX, description="About how many messages a second.")
    ] = None
    message_group: Annotated[
        Annotated[str, StringConstraints(pattern=GRAPHIC, min_length=1, max_length=128)] | None,
        Field(description="The message group of all messages; by default the batch."),
    ] = None

    def spec(self) -> OpenBatch:
        """Return the options that the batch is opened with. Raises InvalidRequest if they do not fit."""
        return OpenBatch(**given_options(self))

    def order(self, tenant: str) -> Order:
        """Return the order of *tenant*. Raises InvalidRequest for other forms of source and queue."""
        return Order(tenant, self.source, self.queue, self.chunk, self.rate, self.message_group)
