"""Texts that say where a list goes on: one for each position, and nothing else is one."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.api.cursors import list_cursors as cursors
from fanin.errors import InvalidRequest

PLACES = st.tuples(
    st.datetimes(datetime(1970, 1, 1), datetime(2500, 1, 1)).map(lambda at: at.replace(tzinfo=UTC)),
    st.uuids().map(str),
)


@given(st.integers(0, 2**48 - 1))
def test_an_item_comes_back(item: int) -> None:
    assert cursors.item_at(cursors.of_item(item)) == item


@given(PLACES)
def test_a_place_comes_back(position: tuple[datetime, str]) -> None:
    text = cursors.of_batch(position)

    assert cursors.batch_at(text) == position
    assert text is not None
    assert re.fullmatch(cursors.CURSOR_FORM, text)


@given(st.text(max_size=40))
def test_of_all_texts_only_those_that_were_given_are_read(text: str) -> None:
    for read, write in ((cursors.item_at, cursors.of_item), (cursors.batch_at, cursors.of_batch)):
        try:
            found = read(text)
        except InvalidRequest:
            continue

        assert write(found) == text  # type: ignore[operator]


@pytest.mark.parametrize(
    "text", ["AAAAAAA+", "AAAAAA/A", "AAAAAAA=", "AAAAAAAA\n", " AAAAAAAA", "AAAA", "é" * 8]
)
def test_an_alias_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="cursor"):
        cursors.item_at(text)
