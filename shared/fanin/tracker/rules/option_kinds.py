"""The kinds of options of a batch: what a value of each kind is, and its check.

A check returns the value as a batch keeps it. Raises InvalidRequest, which names the *field* of the request.
What sends, stores, shows or reads options has a table by these kinds, such as ``ATTRIBUTES`` of
``dynamodb/items.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar

from fanin.arguments import Seconds, shown, text, timedelta_of, whole
from fanin.errors import InvalidRequest
from fanin.item_ids import checked_item_id
from fanin.tracker.rules.ids import TOTAL_MAX

SECOND = timedelta(seconds=1)
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""Matches a text without control characters."""
LABELS_MAX = 10
LABEL_KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f:\ud800-\udfff]{1,64}")
LABEL_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{0,256}")
LABEL = re.compile(f"{LABEL_KEY.pattern}:{LABEL_VALUE.pattern}")
"""Texts without control characters and lone surrogates, which have no form in UTF-8."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of options. *unit*: what the name of a field of JSON ends with."""

    unit: ClassVar[str] = ""

    def check(self, value: Any, field: str) -> Any:
        """Return *value* as a batch keeps it. Raises InvalidRequest."""
        raise NotImplementedError  # each kind has its own


@dataclass(frozen=True, slots=True)
class Whole(Kind):
    """A whole number, by default one of items."""

    least: int
    most: int = TOTAL_MAX

    def check(self, value: int, field: str) -> int:
        return whole(value, field, self.least, self.most)


@dataclass(frozen=True, slots=True)
class Dollars(Kind):
    """An amount of US dollars, kept to a millionth."""

    least: float = 1e-6
    most: float = 1e6

    def check(self, value: float, field: str) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not self.least <= value <= self.most:
            raise InvalidRequest(
                f"{field} is dollars, from 0.000001 to {self.most:,.0f}, not {shown(value)}", field=field
            )
        return round(float(value), 6)


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    """Yes or no; no is the default, and is neither stored nor shown."""

    def check(self, value: bool, field: str) -> bool:
        if not isinstance(value, bool):
            raise InvalidRequest(f"{field} is true or false, not {value!r:.60}", field=field)
        return value


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """A text. *called*: in errors. *form* is what a whole text matches, *otherwise* the error of another one.

    *pattern*, *least* and *most* say the same to readers of JSON; *least* and *most*: characters.
    """

    called: str
    form: re.Pattern[str]
    otherwise: str
    pattern: str = PRINTABLE
    least: int | None = None
    most: int | None = None

    def check(self, value: str, field: str) -> str:
        if not self.form.fullmatch(text(value, self.called, field)):
            raise InvalidRequest(self.otherwise, field=field)
        return text(value, self.called, field)


@dataclass(frozen=True, slots=True)
class Secret(Text):
    """A text that no answer, event or log has."""


@dataclass(frozen=True, slots=True)
class ItemName(Kind):
    """The id of an item of a batch."""

    def check(self, value: Any, field: str) -> str | None:
        return checked_item_id(value, field)


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of some texts. *called*: in errors."""

    of: type[StrEnum]
    called: str

    def check(self, value: str, field: str) -> StrEnum:
        if not isinstance(value, str) or value not in set(self.of):
            raise InvalidRequest(f"{self.called} is {' or '.join(self.of)}, not {shown(value)}", field=field)
        return self.of(value)


@dataclass(frozen=True, slots=True)
class Several(Kind):
    """A list of some *choices*, which a batch keeps in their order, each once."""

    of: type[StrEnum]
    choices: tuple[StrEnum, ...]

    def check(self, value: Any, field: str) -> tuple[StrEnum, ...]:
        try:
            wanted = None if isinstance(value, str) else list(value)
        except TypeError:
            wanted = None
        if wanted is None or any(each not in self.choices for each in wanted):
            raise InvalidRequest(
                f"{field} is a list of {', '.join(self.choices)}, not {shown(value)}", field=field
            )
        return tuple(each for each in self.choices if each in wanted)


@dataclass(frozen=True, slots=True)
class Duration(Kind):
    """A time of whole seconds. *otherwise*: the error; another type and a fraction may have their own."""

    unit: ClassVar[str] = "Seconds"
    least: timedelta
    most: timedelta
    otherwise: str
    other_type: str = ""
    fraction: str = ""

    def check(self, value: Seconds, field: str) -> timedelta:
        time = timedelta_of(value)
        if time is None:
            problem = self.other_type or self.otherwise
        elif not self.least <= time <= self.most:
            problem = self.otherwise
        elif time % SECOND:
            problem = self.fraction or self.otherwise
        else:
            return time
        raise InvalidRequest(f"{problem}, not {shown(value)}", field=field)


@dataclass(frozen=True, slots=True)
class Labels(Kind):
    """A mapping of texts to texts, which a batch keeps in the order of its keys; None is an empty one."""

    def check(self, value: Any, field: str) -> Mapping[str, str]:
        labels = {} if value is None else value
        if not isinstance(labels, Mapping) or len(labels) > LABELS_MAX:
            raise InvalidRequest(f"labels are a mapping of at most {LABELS_MAX} keys to values", field=field)
        for key, text_of_key in labels.items():
            if not isinstance(key, str) or not LABEL_KEY.fullmatch(key):
                raise InvalidRequest(
                    "the key of a label has 1 to 64 characters, no control character and no colon",
                    field=field,
                )
            if not isinstance(text_of_key, str) or not LABEL_VALUE.fullmatch(text_of_key):
                raise InvalidRequest(
                    "the value of a label has up to 256 characters and no control character", field=field
                )
        return {str.__str__(key): str.__str__(labels[key]) for key in sorted(labels)}


@dataclass(frozen=True, slots=True)
class Stages(Kind):
    """A time for each state of a batch, in a dataclass *of* such times; None is its default."""

    unit: ClassVar[str] = "Seconds"
    of: type[Any]

    def check(self, value: Any, field: str) -> Any:
        if value is not None and not isinstance(value, self.of):
            raise InvalidRequest(
                "a retention is a Retention, such as Retention(complete=timedelta(days=1))", field=field
            )
        return self.of() if value is None else value
