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


def test_a_document_that_goes_too_deep_is_refused() -> None:
    def nested(levels: int) -> str:
        return '{"a":' * levels + "1" + "}" * levels

    parse(nested(DEPTH_MAX))
    with pytest.raises(InvalidRequest, match="100 levels"):
        parse(nested(DEPTH_MAX + 1))
