"""Chunks: how a range is cut, and the messages that carry it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin import InvalidRequest
from fanin.client.consuming.chunks import chunk_of, range_of
from fanin.client.items import Items
from fanin.tracker import GroupId

BATCH = "00000000-0000-4000-8000-000000000001"


def group(start=0, upto=1_000):
    return Items(BATCH, str(GroupId(start, upto, 7)), upto)


def record(body):
    return {"messageId": "m", "body": body if isinstance(body, str) else json.dumps(body)}


@given(st.integers(0, 5_000), st.integers(1, 3_000), st.integers(1, 1_100), st.data())
def test_chunks_are_cut_at_multiples_in_the_batch_and_leave_nothing_out(start, upto, size, data):
    first = data.draw(st.integers(0, upto - 1))
    items = group(start, upto)[first:]
    chunks = list(items.chunks(size))

    assert [index for chunk in chunks for index in chunk.indexes] == list(items.indexes)
    assert all((start + chunk.indexes[0]) // size == (start + chunk.indexes[-1]) // size for chunk in chunks)
    assert len(chunks) == (start + upto - 1) // size - (start + first) // size + 1


@pytest.mark.parametrize("size", [0, -1, 10_001, True, 2.0, None])
def test_a_chunk_has_1_to_10000_items(size):
    with pytest.raises(InvalidRequest, match="1 to 10000 items"):
        group().chunks(size)


@pytest.mark.parametrize("items", [group()[::2], group()[::-1]])
def test_a_range_with_gaps_has_no_chunks(items):
    with pytest.raises(InvalidRequest):
        items.chunks(10)
    with pytest.raises(InvalidRequest):
        items.message()


def test_a_message_carries_a_range_and_its_rows():
    items = group()[64:67]
    body = items.message([{"name": "käy"}, None, [1]], sentAt=5)
    chunk = chunk_of(record(body))
    second = chunk.item(65)

    assert json.loads(body)["items"] == f"{BATCH}:{items.group_id}:64-66"
    assert "käy" in body
    assert (chunk.items, chunk.rows) == (items, [{"name": "käy"}, None, [1]])
    assert (second.id, second.index, second.row, second.record["body"]) == (items[1], 65, None, body)


def test_a_message_of_one_item_as_fan_out_sends_it_is_a_chunk_of_one():
    item = group()[5]
    chunk = chunk_of(record({"itemId": item, "record": {"a": 1}, "sentAt": 1}))

    assert (list(chunk.items), chunk.item(5).row) == ([item], {"a": 1})


def test_rows_are_as_many_as_the_items():
    with pytest.raises(InvalidRequest, match="3 items take as many rows, not 2"):
        group()[:3].message([1, 2])
    with pytest.raises(InvalidRequest, match="items"):
        group()[:3].message(items="of mine")


def texts():
    whole = group()[2:5].text
    head = whole.rpartition(":")[0]
    ranges = ("", "2", "2-", "-2", "02-4", "2-04", "5-4", "2-4 ", "2-4\n", "+2-4", "2-1000", "2-4-6", "²-4")
    yield from (f"{head}:{each}" for each in ranges)
    yield from (whole.upper(), whole[1:], f"{BATCH}:{BATCH}:2-4", None, 5, [whole], {})
    yield Items(BATCH, str(GroupId(0, 20_000, 7)), 20_000)[:10_001].text


@pytest.mark.parametrize("text", list(texts()), ids=lambda text: str(text)[-12:])
def test_what_is_no_range_of_its_group_is_refused(text):
    with pytest.raises(InvalidRequest):
        range_of(text)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "x",
        "[]",
        "null",
        "[" * 100_000,
        "{}",
        {"itemId": 5},
        {"itemId": "x"},
        {"items": group()[:3].text, "rows": [1, 2]},
        {"items": group()[:3].text, "rows": {"0": 1}},
        {"items": group()[:3].text, "rows": "abc"},
    ],
    ids=lambda body: str(body)[:8],
)
def test_a_message_that_is_no_chunk_is_refused(body):
    with pytest.raises(InvalidRequest):
        chunk_of(record(body))
