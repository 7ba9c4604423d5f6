"""JSON objects as dataclasses: names in camel case, times as texts, durations in seconds.

A field whose type allows None, or that has a default, may be absent from the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from fanin.names import camel

T = TypeVar("T")
Document = Mapping[str, Any]
SECOND = timedelta(seconds=1)


class _Member(NamedTuple):
    """A member of an object, and the field that it is read for."""

    field: str
    name: str
    read: Callable[[Any], Any]
    has_default: bool
    may_be_none: bool


def value_of(kind: type[T], document: Document, **given: Any) -> T:
    """Return the value of *kind*, a dataclass; *given*: fields that are not read from the document.

    Raises KeyError, ValueError or TypeError for a malformed document.
    """
    for member in _members(kind):  # type: ignore[arg-type]  # a class is hashable
        value = document.get(member.name)
        if member.field in given or (value is None and member.has_default):
            continue
        if value is None and not member.may_be_none:
            raise KeyError(member.name)
        given[member.field] = None if value is None else member.read(value)
    return kind(**given)


def reader(kind: type[T]) -> Callable[[Document], T]:
    """Return the function that reads a value of *kind*."""
    return partial(value_of, kind)


def written(value: Any) -> Any:
    """Return *value* as JSON has it."""
    if isinstance(value, timedelta):
        return value // SECOND
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {camel(fact.name): written(getattr(value, fact.name)) for fact in fields(value)}
    return value


@cache
def _members(kind: Any) -> tuple[_Member, ...]:
    types = get_type_hints(kind)
    return tuple(_member(fact, types[fact.name]) for fact in fields(kind))


def _member(fact: Field[Any], declared: Any) -> _Member:
    """Return the member that is read for a field of the type *declared*, which may be ``X | None``."""
    types = get_args(declared) if NoneType in get_args(declared) else (declared,)
    (kind, *_) = (each for each in types if each is not NoneType)
    return _Member(
        field=fact.name,
        name=camel(fact.name) + ("Seconds" if kind is timedelta else ""),
        read=_reading(kind),
        has_default=fact.default is not MISSING or fact.default_factory is not MISSING,
        may_be_none=kind is Any or NoneType in types,
    )


def _reading(kind: Any) -> Callable[[Any], Any]:
    """Return the function that reads a JSON value of the type *kind*."""
    if get_origin(kind) is tuple:
        each = _reading(get_args(kind)[0])
        return lambda values: tuple(each(value) for value in values)
    if kind is datetime:
        return datetime.fromisoformat
    if kind is timedelta:
        return lambda seconds: seconds * SECOND
    if not isinstance(kind, type):
        return lambda value: value
    if issubclass(kind, Enum):
        return kind
    return reader(kind) if is_dataclass(kind) else lambda value: value
