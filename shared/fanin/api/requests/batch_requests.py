"""The bodies of requests as strict models: exact types and names, and bounds of every value."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from fanin.api.requests.bodies import Body, ItemIdText, Uuid
from fanin.api.requests.option_types import body_type, given_options, options_body
from fanin.result_texts import result_text
from fanin.tracker.reads.progress_tokens import LIFETIME, LIFETIME_MAX
from fanin.tracker.rules.ids import COUNT_MAX
from fanin.tracker.rules.model import REASON_MAX, Ack, Outcome
from fanin.tracker.rules.option_kinds import PRINTABLE
from fanin.tracker.rules.options import OPTIONS, OpenBatch

ACKS_MAX = 1000
TOKEN_SECONDS, TOKEN_SECONDS_MAX = int(LIFETIME.total_seconds()), int(LIFETIME_MAX.total_seconds())
RANGES_MAX = 100_000
"""Items that the ranges of one request may cover; more would exceed the timeout of the function."""

UserKey = body_type(OPTIONS["user_key"])
Reason = Annotated[
    str,
    StringConstraints(min_length=1, max_length=REASON_MAX, pattern=PRINTABLE),
    Field(description="Text for people; no control characters."),
]
Index = Annotated[int, Field(ge=0, lt=COUNT_MAX)]


Label = Annotated[
    str,
    StringConstraints(min_length=2, max_length=321, pattern=PRINTABLE),
    Field(description="A label as `key:value`; no control characters."),
]
_OpenOptions: Any = options_body("OpenOptions", OPTIONS, defaults=True)


class OpenBatchBody(_OpenOptions):  # type: ignore[misc]  # made from the table of options
    """The options of a new batch; ``{}``, or no body, takes the defaults."""

    def spec(self) -> OpenBatch:
        """Return the options of the tracker's open."""
        return OpenBatch(**given_options(self))


class AddItemsBody(Body):
    """The number of items to reserve."""

    count: Annotated[int, Field(ge=1, le=COUNT_MAX)]


class CloseBatchBody(Body):
    """Without fields: ``{}``, or no body."""


class NotifyBatchBody(Body):
    """Without fields: ``{}``, or no body."""


class ProgressTokenBody(Body):
    """The time after which a progress token expires; ``{}``, or no body, takes an hour."""

    expires_seconds: Annotated[int, Field(ge=1, le=TOKEN_SECONDS_MAX)] = TOKEN_SECONDS


class CancelBatchBody(Body):
    """The reason of a cancel, and what else ends; ``{}``, or no body, gives no reason."""

    reason: Reason | None = None
    children: Annotated[
        bool,
        Field(description="Cancel each live batch below it, too: of its items, of their items, and so on."),
    ] = False


class AckBody(Body):
    """An ack entry for one item (*itemId*), or for the items *from* to *to*, both inclusive, of a group.

    A success heals a failed item; a failure of an item that was acked before has no effect.
    """

    item_id: ItemIdText | None = None
    batch_id: Uuid | None = None
    group_id: Uuid | None = None
    first: Annotated[Index | None, Field(alias="from")] = None
    last: Annotated[Index | None, Field(alias="to")] = None
    outcome: Literal["success", "failure"] = "success"
    reason: Reason | None = None
    result: Annotated[
        Any,
        Field(
            description="What the work of the item returned: JSON of at most 64 KB, null for nothing. The"
            " batch was opened with `results`."
        ),
    ] = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        range_fields = [self.batch_id, self.group_id, self.first, self.last]
        missing = range_fields.count(None)
        if missing != (0 if self.item_id is None else 4):
            raise PydanticCustomError("ack_form", "give itemId, or batchId, groupId, from and to")
        if self.reason is not None and self.outcome == "success":
            raise PydanticCustomError("ack_reason", "a reason is given for a failure")
        if self.result is not None and (self.item_id is None or self.outcome == "failure"):
            raise PydanticCustomError("ack_result", "a result is that of one item that is done: give itemId")
        if self.first is not None and self.last is not None and self.first > self.last:
            raise PydanticCustomError("ack_range", "a range goes from a smaller index to a larger one")
        return self

    @property
    def size(self) -> int:
        """Return the number of items of the entry."""
        return 1 if self.first is None or self.last is None else self.last - self.first + 1

    def ack(self, caller: str) -> Ack:
        """Return the tracker's ack of the entry."""
        outcome = Outcome(self.outcome)
        if self.batch_id is None or self.group_id is None or self.first is None or self.last is None:
            return Ack.of(str(self.item_id), caller, outcome, self.reason, result_text(self.result))
        return Ack(self.batch_id, self.group_id, self.first, self.last, caller, outcome, self.reason)


class AckItemsBody(Body):
    """Items to ack: a list of item ids that are done (*items*), or of ack entries (*acks*).

    One request may name 100 batches and touch 1,000 pages, with failed items 250; a page has 1,024 items
    unless configured otherwise. Beyond that nothing is acked, and the problem is `too-many-batches` or
    `too-many-pages`; divide the request.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["items"]}, {"required": ["acks"]}]})

    items: Annotated[list[ItemIdText] | None, Field(min_length=1, max_length=ACKS_MAX)] = None
    acks: Annotated[list[AckBody] | None, Field(min_length=1, max_length=ACKS_MAX)] = None
    dry_run: Annotated[
        bool, Field(description="Answer the verdict that each ack would get by itself, and ack nothing.")
    ] = False

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if (self.items is None) == (self.acks is None):
            raise PydanticCustomError("ack_lists", "give items, or acks")
        if sum(entry.size for entry in self.acks or ()) > RANGES_MAX:
            raise PydanticCustomError(
                "ack_ranges",
                "one request covers at most {most} items; divide it",
                {"most": RANGES_MAX},
            )
        return self

    def entries(self) -> list[AckBody]:
        """Return the ack entries, also for a list of item ids, in the order of the request."""
        return list(self.acks or ()) or [AckBody.model_construct(item_id=item) for item in self.items or ()]
