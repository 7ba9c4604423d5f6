"""The options of a batch in bodies and answers: the type of each follows from its kind in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints, create_model

from fanin.api.requests.bodies import ITEM_FORM, Body, canonical
from fanin.errors import InvalidRequest
from fanin.tracker.rules.option_kinds import (
    LABELS_MAX,
    PRINTABLE,
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
from fanin.tracker.rules.options import KEPT_MAX, KEPT_MIN, OPTIONS, SHOWN, Option, Retention

Seconds = Annotated[int, Field(ge=KEPT_MIN // SECOND, le=KEPT_MAX // SECOND)]
LabelTexts = dict[
    Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=PRINTABLE)],
    Annotated[str, StringConstraints(max_length=256, pattern=PRINTABLE)],
]


LITERAL: Any = Literal
LIST: Any = list
"""Without their types, because the types in them are known only when this module is loaded."""


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


def _text(kind: Text) -> list[Any]:
    return [str, StringConstraints(min_length=kind.least, max_length=kind.most, pattern=kind.pattern)]


def _one_of(choices: Iterable[str]) -> Any:
    return LITERAL[tuple(map(str, choices))]


BODY_TYPES: Mapping[type[Kind], Callable[[Any], list[Any]]] = {
    Text: _text,
    Secret: _text,
    ItemName: lambda _: [str, StringConstraints(pattern=ITEM_FORM), AfterValidator(canonical)],
    Choice: lambda kind: [_one_of(kind.of)],
    Whole: lambda kind: [int, Field(ge=kind.least, le=kind.most)],
    Dollars: lambda kind: [float, Field(ge=kind.least, le=kind.most)],
    Duration: lambda kind: [int, Field(ge=kind.least // SECOND, le=kind.most // SECOND)],
    Flag: lambda _: [bool],
    Labels: lambda _: [LabelTexts, Field(max_length=LABELS_MAX)],
    Several: lambda kind: [LIST[_one_of(kind.choices)], Field(max_length=len(kind.choices))],
    Stages: lambda _: [RetentionBody],
}
"""The type of an option in a body, and what restricts it, by its kind."""


def body_type(option: Option) -> Any:
    """Return the type of an option in a body."""
    kind, *restricted = BODY_TYPES[type(option.kind)](option.kind)
    described = [Field(description=option.about)] if option.about else []
    parts = (kind, *restricted, *described)
    return Annotated[parts] if len(parts) > 1 else kind


def options_body(name: str, options: Iterable[str], defaults: bool) -> Any:
    """Return the base of a body with *options*; one that is not given is None, or has its default."""
    fields: dict[str, Any] = {each: _field(OPTIONS[each], defaults) for each in options}
    return create_model(name, __base__=Body, **fields)


def _field(option: Option, defaults: bool) -> tuple[Any, Any]:
    default = _in_json(option.default) if defaults else None
    kind = body_type(option)
    return kind if default is not None else kind | None, Field(default, alias=option.field)


def _in_json(default: Any) -> Any:
    if isinstance(default, Retention):
        return RetentionBody()
    if isinstance(default, str):
        return str(default)
    return list(default) if isinstance(default, tuple) else default


def given_options(body: Any) -> dict[str, Any]:
    """Return the options that *body* gives, as the tracker takes them."""
    given = {name: getattr(body, name) for name in OPTIONS if hasattr(body, name)}
    return {name: _value(OPTIONS[name], value) for name, value in given.items() if value is not None}


def _value(option: Option, given: Any) -> Any:
    if isinstance(given, RetentionBody):
        return given.retention()
    return timedelta(seconds=given) if isinstance(option.kind, Duration) else given


def _in_seconds(time: object) -> object:
    return time // SECOND if isinstance(time, timedelta) else time


def _is_default(option: Option, value: object) -> bool:
    return value is None or value in ([], {}, option.default)


ANSWER_TYPES: Mapping[type[Kind], Callable[[Any], Any]] = {
    Text: lambda _: str,
    ItemName: lambda _: str,
    Choice: lambda kind: kind.of,
    Whole: lambda _: int,
    Dollars: lambda _: float,
    Flag: lambda _: bool,
    Duration: lambda _: Annotated[int, BeforeValidator(_in_seconds)],
    Labels: lambda _: dict[str, str],
    Several: lambda kind: LIST[kind.of],
}
"""The type of an option in an answer, by its kind."""


def options_answer(head: type[BaseModel]) -> Any:
    """Return the base of an answer: the fields of *head*, then the options that it lacks, but defaults."""
    fields: dict[str, Any] = {
        option.name: (
            ANSWER_TYPES[type(option.kind)](option.kind) | None,
            Field(default=None, exclude_if=partial(_is_default, option), alias=option.field),
        )
        for option in SHOWN
        if option.name not in head.model_fields
    }
    return create_model("ShownOptions", __base__=head, **fields)
