"""Values of settings as they are given: the command line passes text, ``cdk.json`` JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NewType

ByPattern = NewType("ByPattern", str)
"""A list of objects, each for a pattern of targets, as JSON text."""
ByName = NewType("ByName", str)
"""A list of objects, each with a name, as JSON text."""
NO_PATTERNS, NO_NAMES = ByPattern("[]"), ByName("[]")


class ConfigError(ValueError):
    """A setting has an invalid value; the message names both and the valid values."""


def parsed(name: str, kind: Any, value: object) -> object:
    """Return *value* as *kind*: the command line passes text, cdk.json JSON values."""
    if kind is bool:
        return _flag(name, value)
    if kind is int:
        return _whole_number(name, value)
    if kind == tuple[str, ...]:
        return _texts(name, value)
    if kind in (ByPattern, ByName) and isinstance(value, list):
        return json.dumps([_with_whole_numbers(row) for row in value])
    if not isinstance(value, str):
        raise refused(name, value, "text")
    return value


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise refused(name, value, "true or false")


def _whole_number(name: str, value: object) -> int:
    value = _whole(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    raise refused(name, value, "a whole number")


def _whole(value: object) -> object:
    """Return a whole float as an int: jsii may return an int as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_whole_numbers(row: object) -> object:
    return {name: _whole(value) for name, value in row.items()} if isinstance(row, Mapping) else row


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise refused(name, value, "a list of texts, or one text with commas")


def refused(name: str, value: object, takes: str) -> ConfigError:
    return ConfigError(f"{name} is {value!r}; it takes {takes}")
