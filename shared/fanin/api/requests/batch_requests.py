"""The bodies of requests as strict models: exact types and names, and bounds of every value."""

from __future__ import annotations

from dataclasses import fields
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
from fanin.item_ids import ItemId
from fanin.tracker.rules.ids import COUNT_MAX, TOTAL_MAX
from fanin.tracker.rules.model import PRINTABLE, REASON_MAX, Ack, Outcome
from fanin.tracker.rules.options import (
    KEPT_MAX,
    KEPT_MIN,
    LABELS_MAX,
    LIFETIME_MAX,
    SECOND,
    Mode,
    OpenBatch,
    Retention,
)
from fanin.tracker.rules.threshold_options import CALLBACK, STUCK_AFTER_MAX, STUCK_AFTER_MIN, Threshold
from fanin.tracker.rules.tokens import TOKEN_MAX, OnFailures

ACKS_MAX = 1000
RANGES_MAX = 100_000
"""Items that the ranges of one request may cover; more would exceed the timeout of the function."""
DEADLINE_MAX_SECONDS = LIFETIME_MAX // SECOND

UUID_FORM = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
GRAPHIC = r"^[\x21-\x7e]+$"
ITEM_FORM = UUID_FORM[:-1] + ":" + UUID_FORM[1:-1] + r":(0|[1-9][0-9]{0,18})$"


def _parsed(text: str) -> str:
    """Return the item id in *text*, in its canonical form."""
    try:
        return str(ItemId.parse(text))
    except InvalidRequest as error:
        raise PydanticCustomError("item_id", "{reason}", {"reason": str(error)}) from error


UserKey = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256, pattern=PRINTABLE),
    Field(description="Your name for the batch, returned with it; no control characters."),
]
Reason = Annotated[
    str,
    StringConstraints(min_length=1, max_length=REASON_MAX, pattern=PRINTABLE),
    Field(description="Text for people; no control characters."),
]
Uuid = Annotated[str, StringConstraints(pattern=UUID_FORM)]
ItemIdText = Annotated[
    str,
    StringConstraints(pattern=ITEM_FORM),
    AfterValidator(_parsed),
    Field(description="`batchId:groupId:index`, the index from 0 to `upto - 1` without leading zeros."),
]
Seconds = Annotated[int, Field(ge=KEPT_MIN // SECOND, le=KEPT_MAX // SECOND)]
Index = Annotated[int, Field(ge=0, lt=COUNT_MAX)]


class Body(BaseModel):
    """The base of all bodies: no value is converted, and unknown fields are refused."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


class RetentionBody(Body):
    """Seconds that a batch is kept after entering each state."""

    open: Seconds | None = None
    closed: Seconds | None = None
    complete: Seconds | None = None

    def retention(self) -> Retention:
        """Return the retention, with the tracker's defaults for absent fields."""
        given = self.model_dump(exclude_none=True)
        try:
            return Retention(**{stage: timedelta(seconds=seconds) for stage, seconds in given.items()})
        except InvalidRequest as error:
            raise InvalidRequest(str(error), field="retentionSeconds") from error


ExpectedItems = Annotated[
    int,
    Field(ge=0, le=TOTAL_MAX, description="Close is refused before this many items are added."),
]
DeadlineSeconds = Annotated[
    int,
    Field(
        ge=1,
        le=DEADLINE_MAX_SECONDS,
        description="Seconds from the opening to the time-out of the batch.",
    ),
]
MaxFailures = Annotated[
    int,
    Field(ge=1, le=TOTAL_MAX, description="The number of failed items that ends the batch, open or closed."),
]
MaxFailurePercent = Annotated[
    int,
    Field(
        ge=1,
        le=100,
        description="The percentage of failed items that ends the batch, judged once it is closed.",
    ),
]
ParentItemId = Annotated[
    str,
    StringConstraints(pattern=ITEM_FORM),
    AfterValidator(_parsed),
    Field(description="An item of another batch of the tenant, acked with this batch's result when it ends."),
]


Label = Annotated[
    str,
    StringConstraints(min_length=2, max_length=321, pattern=PRINTABLE),
    Field(description="A label as `key:value`; no control characters."),
]
Labels = Annotated[
    dict[
        Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=PRINTABLE)],
        Annotated[str, StringConstraints(max_length=256, pattern=PRINTABLE)],
    ],
    Field(
        max_length=LABELS_MAX,
        description="Up to 10 labels to list batches by: keys of 1 to 64 characters without a colon, values"
        " of up to 256; no control characters.",
    ),
]


CALLBACK_PATTERN = f"^{CALLBACK.pattern}$"
CallbackName = Annotated[
    str,
    StringConstraints(pattern=CALLBACK_PATTERN),
    Field(description="The callback of the stack that gets the batch's events, beside the bus."),
]
NotifyAt = Annotated[
    list[Literal["firstFailure", "50%", "90%"]],
    Field(max_length=3, description="Thresholds to report once each, by an event `BatchProgress`."),
]
StuckAfterSeconds = Annotated[
    int,
    Field(
        ge=STUCK_AFTER_MIN // SECOND,
        le=STUCK_AFTER_MAX // SECOND,
        description="Report the live batch by an event `BatchProgress` after so long without an ack.",
    ),
]
TaskToken = Annotated[
    str,
    StringConstraints(min_length=1, max_length=TOKEN_MAX, pattern=GRAPHIC),
    Field(
        description="The token of a Step Functions task, which ends when the batch does; requires"
        " `deadlineSeconds`. No answer, event or log has it."
    ),
]


class OpenBatchBody(Body):
    """The options of a new batch; ``{}``, or no body, takes the defaults."""

    user_key: UserKey | None = None
    mode: Annotated[
        Literal["exact", "estimated"],
        Field(description="`exact`: a bit for each item. `estimated`: counters that count duplicates twice."),
    ] = "exact"
    expected_items: ExpectedItems | None = None
    deadline_seconds: DeadlineSeconds | None = None
    parent_item_id: ParentItemId | None = None
    retention_seconds: RetentionBody = RetentionBody()
    max_failures: MaxFailures | None = None
    max_failure_percent: MaxFailurePercent | None = None
    labels: Labels = {}
    callback: CallbackName | None = None
    notify_at: NotifyAt = []
    stuck_after_seconds: StuckAfterSeconds | None = None
    task_token: TaskToken | None = None
    on_failures: Annotated[
        Literal["succeed", "fail"],
        Field(description="How the task of `taskToken` ends if all items are done and some of them failed."),
    ] = "succeed"

    def spec(self) -> OpenBatch:
        """Return the options of the tracker's open."""
        options = {option.name for option in fields(OpenBatch)}
        same = {name: value for name, value in self if name in options}
        seconds, quiet = self.deadline_seconds, self.stuck_after_seconds
        converted = {
            "mode": Mode(self.mode),
            "on_failures": OnFailures(self.on_failures),
            "retention": self.retention_seconds.retention(),
            "deadline": None if seconds is None else timedelta(seconds=seconds),
            "notify_at": tuple(Threshold(each) for each in self.notify_at),
            "stuck_after": None if quiet is None else timedelta(seconds=quiet),
        }
        return OpenBatch(**same | converted)


class AddItemsBody(Body):
    """The number of items to reserve."""

    count: Annotated[int, Field(ge=1, le=COUNT_MAX)]


class CloseBatchBody(Body):
    """Without fields: ``{}``, or no body."""


class NotifyBatchBody(Body):
    """Without fields: ``{}``, or no body."""


class CancelBatchBody(Body):
    """The reason of a cancel; ``{}``, or no body, gives none."""

    reason: Reason | None = None


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
        """Return the number of items of the entry."""
        return 1 if self.first is None or self.last is None else self.last - self.first + 1

    def ack(self, caller: str) -> Ack:
        """Return the tracker's ack of the entry."""
        outcome = Outcome(self.outcome)
        if self.batch_id is None or self.group_id is None or self.first is None or self.last is None:
            return Ack.of(str(self.item_id), caller, outcome, self.reason)
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
