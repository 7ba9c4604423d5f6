"""JSON without what Python lets through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.api.strict_json import DEPTH_MAX, parse
from fanin.errors import InvalidRequest

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.booleans())
def test_any_object_is_read_as_it_was_written(document: dict[str, Any], ascii_only: bool) -> None:
    assert parse(json.dumps(document, ensure_ascii=ascii_only)) == document


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff{}",
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '{"a":1,"\\u0061":2}',
        '{"a":NaN}',
        '{"a":[-Infinity]}',
        '{"a":1e400}',
        '{"a":-1e400}',
        '{"a":"\\ud800"}',
        '{"\\udc00":1}',
        '{"a":[["\\ud83d"]]}',
        '{"a":' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_not_strict_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse(text)


def test_a_document_that_goes_too_deep_is_refused() -> None:
    def nested(levels: int) -> str:
        return '{"a":' * levels + "1" + "}" * levels

    parse(nested(DEPTH_MAX))
    with pytest.raises(InvalidRequest, match="100 levels"):
        parse(nested(DEPTH_MAX + 1))
