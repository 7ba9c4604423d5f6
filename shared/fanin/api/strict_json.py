"""A strict JSON parser: refuses NaN, infinities, repeated names, lone surrogates and deep nesting."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from fanin.errors import InvalidRequest

DEPTH_MAX = 100
"""Levels of a document; all encoders on its way can write as many."""


def parse(text: str) -> dict[str, Any]:
    """Return the JSON object in *text*. Raises InvalidRequest for anything else."""
    try:
        document = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite
        )
        json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate has no UTF-8 form
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("the body is not one well-formed JSON document") from error
    if not isinstance(document, dict):
        raise InvalidRequest("the body is not a JSON object")
    _check_depth(document)
    return document


def _check_depth(document: Any) -> None:
    level = [document]
    for _ in range(DEPTH_MAX):
        level = [inner for value in level for inner in _within(value)]
    if any(isinstance(value, dict | list) for value in level):
        raise InvalidRequest(f"the body is nested more than {DEPTH_MAX} levels deep")


def _within(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise InvalidRequest("the body names a field twice in one object")
    return names


def _no_constant(name: str) -> NoReturn:
    raise InvalidRequest(f"the body holds {name}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidRequest("the body holds a number beyond the range of a double")
    return number
