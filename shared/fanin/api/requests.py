"""The bodies that callers send, as strict models: exact types and names, and bounds before any work."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from fanin.errors import InvalidRequest
from fanin.tracker.ids import COUNT_MAX, TOTAL_MAX, ItemId
from fanin.tracker.model import LIFE_MAX, Ack, Mode, OpenBatch, Outcome, Retention
from fanin.tracker.reasons import PRINTABLE, REASON_MAX

ACKS_MAX = 1000
RANGES_MAX = 100_000
"""Items that the ranges of one request may cover: they are acked while the caller waits."""
KEPT_MIN_SECONDS = 60
KEPT_MAX_SECONDS = 366 * 24 * 3600

DEADLINE_MAX_SECONDS = LIFE_MAX // timedelta(seconds=1)

UUID_FORM = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
ITEM_FORM = UUID_FORM[:-1] + ":" + UUID_FORM[1:-1] + r":(0|[1-9][0-9]{0,18})$"


def _parsed(text: str) -> str:
    """*text*, where the tracker reads it as an item id."""
    try:
        return str(ItemId.parse(text))
    except InvalidRequest as error:
        raise PydanticCustomError("item_id", "{reason}", {"reason": str(error)}) from error


UserKey = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256, pattern=PRINTABLE),
    Field(description="Your name for the batch, returned everywhere; no control characters."),
]
Reason = Annotated[
    str,
    StringConstraints(min_length=1, max_length=REASON_MAX, pattern=PRINTABLE),
    Field(description="Why, in words for people; no control characters."),
]
Uuid = Annotated[str, StringConstraints(pattern=UUID_FORM)]
ItemIdText = Annotated[
    str,
    StringConstraints(pattern=ITEM_FORM),
    AfterValidator(_parsed),
    Field(description="`batchId:groupId:index`, the index from 0 to `upto - 1` without leading zeros."),
]
Seconds = Annotated[int, Field(ge=KEPT_MIN_SECONDS, le=KEPT_MAX_SECONDS)]
Index = Annotated[int, Field(ge=0, lt=COUNT_MAX)]


class Body(BaseModel):
    """What all bodies share: nothing is converted, nothing unknown is let through."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


class RetentionBody(Body):
    """How long a batch is kept after entering each stage of its life."""

    open: Seconds | None = None
    closed: Seconds | None = None
    complete: Seconds | None = None

    def retention(self) -> Retention:
        """As the tracker takes it, with its defaults for what was not said."""
        said = self.model_dump(exclude_none=True)
        return Retention(**{stage: timedelta(seconds=seconds) for stage, seconds in said.items()})


ExpectedItems = Annotated[
    int,
    Field(ge=0, le=TOTAL_MAX, description="Close is refused until so many items were added."),
]
DeadlineSeconds = Annotated[
    int,
    Field(
        ge=1,
        le=DEADLINE_MAX_SECONDS,
        description="The batch times out so long after its opening, unless it has ended by then.",
    ),
]
MaxFailures = Annotated[
    int,
    Field(ge=1, le=TOTAL_MAX, description="The batch ends, open or closed, once so many items failed."),
]
ParentItemId = Annotated[
    str,
    StringConstraints(pattern=ITEM_FORM),
    AfterValidator(_parsed),
    Field(description="An item of another batch of yours, which this batch acks when it ends, as it ended."),
]


class OpenBatchBody(Body):
    """The settings of a new batch; ``{}``, or no body, takes the defaults."""

    user_key: UserKey | None = None
    mode: Annotated[
        Literal["exact", "estimated"],
        Field(
            description="`exact`: a bit an item. `estimated`: counters, in which a duplicate counts twice."
        ),
    ] = "exact"
    expected_items: ExpectedItems | None = None
    deadline_seconds: DeadlineSeconds | None = None
    parent_item_id: ParentItemId | None = None
    retention_seconds: RetentionBody = RetentionBody()
    max_failures: MaxFailures | None = None

    def wish(self) -> OpenBatch:
        """As the tracker takes it."""
        seconds = self.deadline_seconds
        return OpenBatch(
            user_key=self.user_key,
            mode=Mode(self.mode),
            retention=self.retention_seconds.retention(),
            expected_items=self.expected_items,
            deadline=None if seconds is None else timedelta(seconds=seconds),
            max_failures=self.max_failures,
            parent_item_id=self.parent_item_id,
        )


class AddItemsBody(Body):
    """How many items to reserve."""

    count: Annotated[int, Field(ge=1, le=COUNT_MAX)]


class CloseBatchBody(Body):
    """No field: ``{}``, or no body."""


class NotifyBatchBody(Body):
    """No field: ``{}``, or no body."""


class CancelBatchBody(Body):
    """Why the batch is cancelled; ``{}``, or no body, gives no reason."""

    reason: Reason | None = None


class AckBody(Body):
    """A word on one item (*itemId*), or on the items *from* to *to*, both inclusive, of a group.

    Success heals an item that had failed; a failure changes nothing where the item was acked before.
    """

    item_id: ItemIdText | None = None
    batch_id: Uuid | None = None
    group_id: Uuid | None = None
    first: Annotated[Index | None, Field(alias="from")] = None
    last: Annotated[Index | None, Field(alias="to")] = None
    outcome: Literal["success", "failure"] = "success"
    reason: Reason | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        range_fields = [self.batch_id, self.group_id, self.first, self.last]
        missing = range_fields.count(None)
        if missing != (0 if self.item_id is None else 4):
            raise PydanticCustomError("ack_form", "give itemId, or batchId, groupId, from and to")
        if self.reason is not None and self.outcome == "success":
            raise PydanticCustomError("ack_reason", "a reason is given for a failure")
        if self.first is not None and self.last is not None and self.first > self.last:
            raise PydanticCustomError("ack_range", "a range goes from a smaller index to a larger one")
        return self

    @property
    def size(self) -> int:
        """Items that it speaks of."""
        return 1 if self.first is None or self.last is None else self.last - self.first + 1

    def ack(self, caller: str) -> Ack:
        """As the tracker takes it."""
        outcome = Outcome(self.outcome)
        if self.batch_id is None or self.group_id is None or self.first is None or self.last is None:
            return Ack.of(str(self.item_id), caller, outcome, self.reason)
        return Ack(self.batch_id, self.group_id, self.first, self.last, caller, outcome, self.reason)


class AckItemsBody(Body):
    """Items that are done: a list of item ids (*items*), or of words on items and ranges (*acks*).

    They may be of 100 batches, and lie in 1,000 pages, failed ones in 250; a page has 1,024 items where
    nothing else is configured. Beyond that nothing is acked, and the problem is `too-many-batches` or
    `too-many-pages`: the same in smaller requests is fine.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["items"]}, {"required": ["acks"]}]})

    items: Annotated[list[ItemIdText] | None, Field(min_length=1, max_length=ACKS_MAX)] = None
    acks: Annotated[list[AckBody] | None, Field(min_length=1, max_length=ACKS_MAX)] = None

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if (self.items is None) == (self.acks is None):
            raise PydanticCustomError("ack_lists", "give items, or acks")
        if sum(word.size for word in self.acks or ()) > RANGES_MAX:
            raise PydanticCustomError(
                "ack_ranges",
                "one request covers {most} items at most; send the others in another",
                {"most": RANGES_MAX},
            )
        return self

    def words(self) -> list[AckBody]:
        """All of it in the longer form, in the caller's order."""
        return list(self.acks or ()) or [AckBody.model_construct(item_id=item) for item in self.items or ()]

    def payload(self) -> str:
        """What it says, whatever its order and form: the same words are the same payload."""
        return "\n".join(sorted(word.model_dump_json(by_alias=True) for word in self.words()))
