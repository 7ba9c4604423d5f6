"""Checks of arguments by type and value: each returns the value, or raises InvalidRequest with a sentence.

*name*: the argument, as its caller wrote it.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from fanin.errors import InvalidRequest

K = TypeVar("K")
FLOAT_MAX = sys.float_info.max
SHOWN_MAX = 100
"""Characters of a refused value that an error shows."""
UNITS = {"w": timedelta(weeks=1), "d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
UNITS |= {"s": timedelta(seconds=1)}
DURATION = re.compile(r"(?:\d{1,9}[wdhms])+")
_PART = re.compile(r"(\d+)([wdhms])")
Seconds = float | timedelta
"""A time span: a number of seconds, or a timedelta."""


def text(value: str, name: str, field: str | None = None) -> str:
    """Return *value*, a text; of a member of an enumeration, the text that it is sent and stored as."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} is a text, not {kind_of(value)}", field=field)
    return str.__str__(value)


def text_or_none(value: str | None, name: str, field: str | None = None) -> str | None:
    """Return *value*, a text or None."""
    return None if value is None else text(value, name, field)


def utf8(value: str, name: str, least: int, most: int) -> str:
    """Return *value*, a text of *least* to *most* bytes in UTF-8."""
    try:
        size = len(text(value, name, name).encode())
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{name} is Unicode text, without lone surrogates", field=name) from error
    if not least <= size <= most:
        raise InvalidRequest(f"{name} has {least} to {most} bytes in UTF-8, not {size}", field=name)
    return value


def whole(number: int, name: str, least: int, most: int) -> int:
    """Return *number*, a whole number from *least* to *most*; a bool is refused."""
    try:
        whole_number = None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        whole_number = None
    if whole_number is None or not least <= whole_number <= most:
        raise InvalidRequest(
            f"{name} is a whole number from {least} to {most}, not {shown(number)}", field=name
        )
    return whole_number


def seconds_of(time: Seconds, name: str, most: float = math.inf) -> float:
    """Return *time*, given in seconds or as a timedelta, in seconds, from 0 to *most*; a bool is refused."""
    number = time.total_seconds() if isinstance(time, timedelta) else time
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not 0 <= number <= (most if isinstance(number, float) else min(most, FLOAT_MAX)):
        bound = "0 or more" if most == math.inf else f"from 0 to {most:,.12g}"
        raise InvalidRequest(
            f"{name} is a number of seconds or a timedelta, {bound}, not {shown(time)}", field=name
        )
    return number


def timedelta_of(time: Seconds) -> timedelta | None:
    """Return *time*, given in seconds or as a timedelta, as a timedelta; None for what is neither."""
    if isinstance(time, timedelta):
        return time
    if isinstance(time, bool) or not isinstance(time, int | float):
        return None
    try:
        return timedelta(seconds=time)
    except (OverflowError, ValueError):
        return None


def shown(value: object) -> str:
    """Return *value* for an error: a timedelta in seconds, as its caller may have given it; cut."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():,.12g} s"
    try:
        shown = repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        shown = "a huge number"
    return shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}..."


def flag(value: bool, name: str) -> bool:
    """Return *value*, True or False."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} is True or False, not {shown(value)}", field=name)
    return value


def one_of(value: str, choices: Collection[str], name: str) -> str:
    """Return *value*, one of the texts *choices*."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidRequest(f"{name} is one of {', '.join(choices)}, not {shown(value)}", field=name)
    return value


def instance(value: K, kind: type[K], name: str, field: str | None = None) -> K:
    """Return *value*, an instance of *kind*."""
    if not isinstance(value, kind):
        raise InvalidRequest(f"{name} is a {kind.__name__}, not {kind_of(value)}", field=field)
    return value


def listed(values: Iterable[Any], name: str, entry: Callable[[Any], K]) -> list[K]:
    """Return what *entry* returns for each of *values*, in a list; a single text or mapping is no list."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidRequest(f"{name} is a list, not {kind_of(values)}", field=name)
    return [entry(value) for value in values]


def kind_of(value: object) -> str:
    """Return the type of *value* for an error, because its text may be long or secret."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def duration(text: str) -> timedelta:
    """Return the duration *text*: whole numbers with w, d, h, m or s. Raises InvalidRequest."""
    if not DURATION.fullmatch(text):
        raise InvalidRequest(f"{text!r} is not a duration: write 90s, 15m, 6h, 2d, or 1d12h")
    try:
        return sum((int(number) * UNITS[unit] for number, unit in _PART.findall(text)), timedelta())
    except OverflowError:
        raise InvalidRequest(f"{text!r} is too long: the longest time is 400 days") from None
