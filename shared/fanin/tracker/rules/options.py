"""The options of a batch, chosen at open and never changed: the one table of them.

Each field of the three classes below is an option: its name, type and default, its kind, which checks it, and
its texts. What is derived from the table: ``OPTIONS``, the checks of ``OpenBatch``, the attributes of a row
(``dynamodb/items.py``), the bodies and answers of the API, the JSON of the client, the options of
``fanin open`` and ``fanin publish``, the fields of ``fanin status``, and those that the ending event
has. Not derived: ``OpenOptions`` of the client, for types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fanin.arguments import Seconds, duration, shown, timedelta_of
from fanin.errors import InvalidRequest
from fanin.item_ids import UUID_FORM
from fanin.names import RESUMED_CALLBACK, RESUMED_TASK, camel
from fanin.tracker.rules.option_kinds import (
    SECOND,
    Choice,
    Dollars,
    Duration,
    Flag,
    ItemName,
    Kind,
    Labels,
    Secret,
    Several,
    Stages,
    Text,
    Whole,
)

LIFETIME_MAX = timedelta(days=400)
"""The longest lifetime of a batch, whatever its activity; its pages expire after that."""
KEPT_MIN, KEPT_MAX = timedelta(minutes=1), timedelta(days=366)
"""The bounds of the time that a batch is kept in one state."""
USER_KEY_MAX = 256
"""Characters of a user key."""
USER_KEY = Text(
    "a user key",
    re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}"),
    f"a user key has 1 to {USER_KEY_MAX} characters, no control character and no lone surrogate",
    least=1,
    most=USER_KEY_MAX,
)
CALLBACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
CALLBACK_PATTERN = f"^{CALLBACK.pattern}$"
TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""That of W3C Trace Context: the ids of a trace and of a span in it, which are not 0, and flags."""
STUCK_AFTER_MIN, STUCK_AFTER_MAX = timedelta(minutes=1), timedelta(days=366)
TOKEN_MAX = 2048
"""Characters of a token: the maximum in the Step Functions API reference, SendTaskSuccess."""
GRAPHIC = r"^[\x21-\x7e]+$"
CALLBACK_ID_MAX = 1024
"""Characters of a callback id: the maximum in the Lambda API, SendDurableExecutionCallbackSuccess."""
BASE64 = r"^[A-Za-z0-9+/]+={0,2}$"


class Mode(StrEnum):
    """Exact: one bit for each item. Estimated: counters, in which a duplicate ack counts twice."""

    EXACT = "exact"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a batch is kept in each state, from entering it: whole seconds, 1 minute to 366 days.

    Each is given in seconds or as a timedelta.
    """

    open: timedelta = timedelta(days=7)
    closed: timedelta = timedelta(days=14)
    complete: timedelta = timedelta(days=7)

    if TYPE_CHECKING:  # the fields take what __post_init__ converts

        def __init__(self, open: Seconds = ..., closed: Seconds = ..., complete: Seconds = ...) -> None: ...

    def __post_init__(self) -> None:
        for stage in ("open", "closed", "complete"):
            given = getattr(self, stage)
            kept = timedelta_of(given)
            if kept is None or kept % SECOND or not KEPT_MIN <= kept <= KEPT_MAX:
                raise InvalidRequest(
                    f"the retention {stage} is a number of seconds or a timedelta, such as timedelta(days=1),"
                    f" of whole seconds, from 1 minute to {KEPT_MAX.days} days, not {shown(given)}",
                    field="retention",
                )
            object.__setattr__(self, stage, kept)
        if self.open + self.closed + self.complete > LIFETIME_MAX:
            raise InvalidRequest(
                f"the three retentions may add up to {LIFETIME_MAX.days} days", field="retention"
            )

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Retention:
        """Return the retention that *texts*, such as ``open=9d``, ask for. Raises InvalidRequest."""
        given: dict[str, timedelta] = {}
        for text in texts:
            stage, sign, value = text.partition("=")
            if not sign:
                raise InvalidRequest(f"{text!r} has no '=': write --retention STATE=TIME")
            if stage not in cls.__slots__:
                raise InvalidRequest(f"--retention takes {', '.join(cls.__slots__)}, not {stage}")
            given[stage] = duration(value)
        return cls(**given)


class Threshold(StrEnum):
    """What is reported of a live batch: STUCK for ``stuck_after``, the others for ``notify_at``."""

    FIRST_FAILURE = "firstFailure"
    HALF = "50%"
    MOST = "90%"
    STUCK = "stuck"


PERCENT = {Threshold.HALF: 50, Threshold.MOST: 90}
ONCE = (Threshold.FIRST_FAILURE, *PERCENT)
"""The thresholds that are reported once, in the order in which a batch keeps them."""


def mark_of(threshold: Threshold, stall: int = 0) -> str:
    """Return how rows and event ids name a threshold: ``first_failure``, ``50``, ``90``, ``stuck:2``."""
    if threshold is Threshold.STUCK:
        return f"stuck:{stall}"
    return "first_failure" if threshold is Threshold.FIRST_FAILURE else threshold.removesuffix("%")


class OnFailures(StrEnum):
    """How the task ends if all items of the batch are done, and some of them failed."""

    SUCCEED = "succeed"
    FAIL = "fail"


class ParentFailsOn(StrEnum):
    """Which end of a child batch fails the item of its parent.

    ANY: one with any failed item. FAILED: one before all items were done. NEVER: none.
    """

    ANY = "any"
    FAILED = "failed"
    NEVER = "never"


class TokenKind(StrEnum):
    """What a token ends: a task of Step Functions, or a callback of a durable function of Lambda."""

    TASK = RESUMED_TASK
    CALLBACK = RESUMED_CALLBACK


@dataclass(frozen=True, slots=True)
class TaskToken:
    """The token *text*, how the task ends if items failed, and its *kind*.

    A caller that has the token can end the task. So it is stored in a row of its own, and is in no answer,
    event, log line or archived change.
    """

    text: str = field(repr=False)
    on_failures: OnFailures = OnFailures.SUCCEED
    kind: TokenKind = TokenKind.TASK


def option(
    kind: Kind,
    about: str = "",
    *,
    default: Any = None,
    factory: Callable[[], Any] | None = None,
    cli: tuple[str, str] | None = None,
    argument: str = "",
    title: str = "",
    is_kept: bool = False,
    is_of_its_items: bool = False,
    is_published: bool = True,
    is_of_an_attempt: bool = False,
    in_event: str = "",
    **more: Any,
) -> Any:
    """Return the field of an option.

    *about*: its text in the description of the API. *cli*: its form in the command, ``--name METAVAR``, and
    its help. *argument*: of the client, if it is not the name of the field. *title*: in ``fanin status``.
    *is_kept*: after a delete; it holds no text of a user. *is_of_its_items*: of their number, so that a
    batch that reopens some of them does not take it over. *is_published*: a publication takes it.
    *is_of_an_attempt*: a repeated open may give another one; the first stands. *in_event*: its text in the
    schema of the ending event, which has it if it is given. *factory*, *more*: as in ``dataclasses.field``.
    """
    metadata = {"kind": kind, "about": about, "cli": cli, "argument": argument, "title": title}
    metadata |= {"is_kept": is_kept, "is_of_its_items": is_of_its_items, "is_published": is_published}
    metadata |= {"is_of_an_attempt": is_of_an_attempt, "in_event": in_event}
    start = {"default": default} if factory is None else {"default_factory": factory}
    return field(metadata=metadata, **start, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOptions:
    """The options of a batch that every answer about it shows."""

    user_key: str | None = option(
        USER_KEY, "Your name for the batch, returned with it; no control characters."
    )
    mode: Mode = option(
        Choice(Mode, "a mode"),
        "`exact`: a bit for each item. `estimated`: counters that count duplicates twice.",
        default=Mode.EXACT,
        cli=("--mode MODE", "exact: a bit for each item; estimated: counters."),
        is_kept=True,
    )
    expected_items: int | None = option(
        Whole(least=0),
        "Close is refused before this many items are added.",
        cli=("--expected N", "Refuse a close before N items are added; more are accepted."),
        title="Expected",
        is_kept=True,
        is_of_its_items=True,
        is_published=False,
    )
    max_failures: int | None = option(
        Whole(least=1),
        "The number of failed items that ends the batch, open or closed.",
        cli=("--max-failures N", "End it at N failed items."),
        is_kept=True,
    )
    max_failure_percent: int | None = option(
        Whole(least=1, most=100),
        "The percentage of failed items that ends the batch, judged once it is closed.",
        cli=("--max-failure-percent N", "End it at N % failed items."),
        title="Max failure %",
    )
    failure_sample: int | None = option(
        Whole(least=1),
        "From so many acked items on, `maxFailurePercent` is one of the acked items too, open or closed.",
        cli=("--failure-sample N", "Judge --max-failure-percent from N acked items on, open or closed."),
        is_kept=True,
    )
    min_succeeded: int | None = option(
        Whole(least=1),
        "The number of succeeded items that ends the batch with the result `enough`, open or closed.",
        cli=("--min-succeeded N", "End it with success at N succeeded items."),
        in_event="The succeeded items that were to end it; absent if it named no number.",
        is_kept=True,
        is_of_its_items=True,
    )
    min_succeeded_percent: int | None = option(
        Whole(least=1, most=100),
        "The percentage of succeeded items that ends the batch with `enough`, judged once it is closed.",
        cli=("--min-succeeded-percent N", "End it with success at N % succeeded items."),
        title="Min succeeded %",
        in_event="The percentage of them that was to end it; absent if it named none.",
        is_kept=True,
        is_of_its_items=True,
    )
    max_items: int | None = option(
        Whole(least=1),
        "An add that would pass this number of items is refused.",
        cli=("--max-items N", "Refuse an add that would pass N items."),
        is_kept=True,
        is_of_its_items=True,
    )
    max_cost: float | None = option(
        Dollars(),
        "An add is refused if the items would cost more, each sent and acked alone.",
        cli=("--max-cost DOLLARS", "Refuse an add whose items would cost more."),
        title="Max cost $",
        is_kept=True,
        is_of_its_items=True,
    )
    parent_item_id: str | None = option(
        ItemName(),
        "An item of another batch of the tenant, acked with this batch's result when it ends.",
        cli=("--parent ITEM", "The item of a batch that it acks when it ends."),
        argument="parent",
        title="Parent item",
    )
    parent_fails_on: ParentFailsOn = option(
        Choice(ParentFailsOn, "parent_fails_on"),
        "The end that fails the item of `parentItemId`. `any`: one with failed items. `failed`: one before"
        " all items were done, by the batch's limits, its deadline or a cancel. `never`: none.",
        default=ParentFailsOn.FAILED,
        cli=("--parent-fails-on END", "any, failed or never: the end that fails the --parent item."),
        title="Parent fails on",
        is_kept=True,
    )
    labels: Mapping[str, str] = option(
        Labels(),
        "Up to 10 labels to list batches by: keys of 1 to 64 characters without a colon, values of up to 256;"
        " no control characters.",
        factory=dict,
        cli=("--label KEY:VALUE", "A label; repeatable."),
        is_published=False,
        hash=False,
    )
    callback: str | None = option(
        Text(
            "a callback",
            CALLBACK,
            "the name of a callback has 1 to 64 of A-Z a-z 0-9 . _ -, the first of A-Z a-z 0-9",
            pattern=CALLBACK_PATTERN,
        ),
        "The callback of the stack that gets the batch's events, beside the bus.",
        cli=("--callback NAME", "The callback that gets its events."),
    )
    notify_at: tuple[Threshold, ...] = option(
        Several(Threshold, ONCE),
        "Thresholds to report once each, by an event `BatchProgress`.",
        default=(),
        cli=("--notify-at WHEN", "Send an event at firstFailure, 50%, 90%; repeatable."),
    )
    stuck_after: timedelta | None = option(
        Duration(
            STUCK_AFTER_MIN,
            STUCK_AFTER_MAX,
            "stuckAfterSeconds goes from a minute to 366 days, in whole seconds",
            fraction="stuckAfterSeconds takes whole seconds",
        ),
        "Report the live batch by an event `BatchProgress` after so long without an ack.",
        cli=("--stuck-after TIME", "Send an event if no ack comes for so long."),
    )
    results: bool = option(
        Flag(),
        "Keep what the work of each item returns, to read once the batch has ended.",
        default=False,
        cli=("--results", "Keep the results of its items."),
        is_kept=True,
    )
    traceparent: str | None = option(
        Text(
            "a traceparent",
            TRACEPARENT,
            "a traceparent is that of W3C Trace Context: 00-, 32 hexadecimal digits, 16 and 2",
            least=55,
            most=55,
        ),
        "The W3C `traceparent` of the span that opens the batch, which its ending event has, too.",
        cli=("--traceparent TEXT", "The W3C traceparent that its ending event gets."),
        is_of_an_attempt=True,
        in_event="The W3C traceparent of the span that opened it; absent if it was opened in none.",
    )

    @property
    def needs_bucket(self) -> bool:
        """Whether its stack must have a bucket, of results."""
        return self.results


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(ShownOptions):
    """All options of a batch that its row keeps."""

    retention: Retention = option(
        Stages(Retention),
        factory=Retention,
        cli=("--retention STATE=TIME", "How long it is kept while open, closed, complete; repeatable."),
        is_kept=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatch(BatchOptions):
    """A request for a new batch. *deadline*: the batch times out so long after it was opened.

    *task_token*, *durable_callback_id*: of a Step Functions task or a durable function that waits for the
    end of the batch; *on_failures*: its end.
    """

    deadline: timedelta | None = option(
        Duration(
            SECOND,
            LIFETIME_MAX,
            "a deadline is whole seconds, from 1 second to 400 days",
            other_type="a deadline is a number of seconds or a timedelta, such as timedelta(hours=1)",
        ),
        "Seconds from the opening to the time-out of the batch.",
        cli=("--deadline TIME", "The time after which it times out: 90s, 6h, 1d12h."),
    )
    task_token: str | None = option(
        Secret(
            "a task token",
            re.compile(rf"[\x21-\x7e]{{1,{TOKEN_MAX}}}"),
            f"a task token is 1 to {TOKEN_MAX} printable ASCII characters, without spaces",
            pattern=GRAPHIC,
            least=1,
            most=TOKEN_MAX,
        ),
        "The token of a Step Functions task, which ends when the batch does; requires `deadlineSeconds`. No"
        " answer, event or log has it.",
        cli=("--task-token-file FILE", "The file with a task token; - is standard input."),
        repr=False,
    )
    durable_callback_id: str | None = option(
        Secret(
            "a callback id",
            re.compile(rf"(?=.{{1,{CALLBACK_ID_MAX}}}\Z){BASE64}"),
            f"a callback id is 1 to {CALLBACK_ID_MAX} characters of A-Z a-z 0-9 + /, and up to two =",
            pattern=BASE64,
            least=1,
            most=CALLBACK_ID_MAX,
        ),
        "The id of a callback of a durable function of Lambda, which ends when the batch does; requires"
        " `deadlineSeconds`. No answer, event or log has it.",
        cli=(
            "--durable-callback-id-file FILE",
            "The file with the id of a durable callback; - is standard input.",
        ),
        repr=False,
    )
    on_failures: OnFailures = option(
        Choice(OnFailures, "on_failures"),
        "How the task of `taskToken`, or the callback of `durableCallbackId`, ends if all items are done and"
        " some of them failed.",
        default=OnFailures.SUCCEED,
        cli=("--on-failures END", "succeed or fail: the end of that task if items failed."),
    )

    def __post_init__(self) -> None:
        for name, each in OPTIONS.items():
            object.__setattr__(self, name, each.checked(getattr(self, name)))
        self._check_bounds()
        if self.user_key is not None and UUID_FORM.fullmatch(self.user_key):
            raise InvalidRequest(
                "a user key is no UUID: `fanin status` and others would take it for the id of a batch",
                field="userKey",
            )
        if self.results and self.mode is Mode.ESTIMATED:
            raise InvalidRequest(
                "an estimated batch keeps no results: it does not know which items are done", field="results"
            )
        if self.parent_item_id is None and self.parent_fails_on is not ParentFailsOn.FAILED:
            raise InvalidRequest(
                "parentFailsOn is for a batch with a parentItemId; give that, or leave it out",
                field="parentFailsOn",
            )
        self._check_waiting()

    def _check_waiting(self) -> None:
        """Raise InvalidRequest for options that do not fit what waits for the batch."""
        if self.task_token is not None and self.durable_callback_id is not None:
            raise InvalidRequest(
                "a batch has a taskToken or a durableCallbackId, not both", field="durableCallbackId"
            )
        token = self.token
        if token is None and self.on_failures is not OnFailures.SUCCEED:
            raise InvalidRequest(
                "onFailures is for a batch with a taskToken or a durableCallbackId", field="onFailures"
            )
        if token is not None and self.deadline is None:
            raise InvalidRequest(
                f"a batch with a {token.kind} needs deadlineSeconds: nothing must wait for ever",
                field="deadlineSeconds",
            )

    def _check_bounds(self) -> None:
        """Raise InvalidRequest for bounds of which one makes another one void."""
        if self.failure_sample is not None and self.max_failure_percent is None:
            raise InvalidRequest(
                "failureSample is for a batch with a maxFailurePercent", field="failureSample"
            )
        if self.max_items is not None and (self.expected_items or 0) > self.max_items:
            raise InvalidRequest(
                f"a batch of at most {self.max_items} items cannot expect {self.expected_items}",
                field="maxItems",
            )
        if self.max_items is not None and (self.min_succeeded or 0) > self.max_items:
            raise InvalidRequest(
                f"of a batch of at most {self.max_items} items, {self.min_succeeded} cannot succeed",
                field="minSucceeded",
            )

    @property
    def token(self) -> TaskToken | None:
        """The token of what waits for the batch, or None."""
        if self.durable_callback_id is not None:
            return TaskToken(self.durable_callback_id, self.on_failures, TokenKind.CALLBACK)
        return None if self.task_token is None else TaskToken(self.task_token, self.on_failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option, as the table has it; *attribute*: of a row."""

    name: str
    attribute: str
    default: Any
    kind: Kind
    about: str = ""
    cli: tuple[str, str] | None
    argument: str
    title: str
    is_kept: bool = False
    is_of_its_items: bool = False
    is_published: bool = False
    is_of_an_attempt: bool = False
    in_event: str = ""

    @classmethod
    def of(cls, fact: Field[Any]) -> Option:
        """Return the option of *fact*, a field of the table."""
        default = fact.default if fact.default_factory is MISSING else fact.default_factory()
        given = {name: value for name, value in fact.metadata.items() if value}
        names = {"argument": fact.name, "title": fact.name.replace("_", " ").capitalize(), "cli": None}
        return cls(name=fact.name, attribute=camel(fact.name), default=default, **names | given)

    @property
    def field(self) -> str:
        """Its name in JSON."""
        return self.attribute + self.kind.unit

    def checked(self, value: Any) -> Any:
        """Return *value* as a batch keeps it. Raises InvalidRequest."""
        return None if value is None and self.default is None else self.kind.check(value, self.field)


OPTIONS: Mapping[str, Option] = {fact.name: Option.of(fact) for fact in fields(OpenBatch)}
"""All options by their names."""
PUBLISHED = tuple(name for name, each in OPTIONS.items() if each.is_published)
"""Those of a batch whose items are the rows of a file or an object; the publication has labels of its own."""
IN_EVENT = tuple(each for each in OPTIONS.values() if each.in_event)
"""Those that the ending event of a batch has, where they are given."""


SHOWN = tuple(OPTIONS[fact.name] for fact in fields(ShownOptions))
"""The options that every answer about a batch shows."""


def options_of(source: BatchOptions) -> dict[str, Any]:
    """Return the options of a batch, or of the request for it, by their names."""
    return {fact.name: getattr(source, fact.name) for fact in fields(BatchOptions)}
