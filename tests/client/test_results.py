"""Reading results: from an item on, without the files before it."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import pytest

from fanin import InvalidRequest
from fanin.client import result_files
from fanin.client.result_files import ResultFile, ResultFiles, read_results
from fanin.errors import StoreUnavailable
from fanin.testing import FakeFanin


@pytest.fixture
def fanin():
    return FakeFanin()


def ended(fanin, results):
    with fanin.open(results=True) as batch:
        items = list(batch.add(len(results)))
        event = {"Records": [{"messageId": str(n), "body": item} for n, item in enumerate(items)]}
        found = dict(zip(items, results, strict=True))
        fanin.acks(results=True)(lambda record: found[record["body"]])(event, None)
    return batch, items


def test_results_go_on_behind_an_item_with_or_without_a_result(fanin):
    batch, items = ended(fanin, ["a", None, "c", "d"])

    assert list(batch.results()) == [(items[0], "a"), (items[2], "c"), (items[3], "d")]
    assert list(batch.results(after=items[1])) == [(items[2], "c"), (items[3], "d")]
    assert list(batch.results(after=items[3])) == []


def test_items_of_a_chunk_with_and_without_results_are_all_acked(fanin):
    with fanin.open(results=True) as batch:
        items = batch.add(6)
        (chunk,) = items.chunks(6)
        found = dict(zip(items, ["a", None, None, "d", None, None], strict=True))
        event = {"Records": [{"messageId": "m", "body": chunk.message()}]}
        answer = fanin.acks_each(results=True)(lambda item: found[item.id])(event, None)

    assert answer == {"batchItemFailures": []}
    assert list(batch.results()) == [(items[0], "a"), (items[3], "d")]


@pytest.mark.parametrize("by_id", [False, True])
def test_an_ack_has_results_by_item_or_in_the_order_of_the_items(fanin, by_id):
    with fanin.open(results=True) as batch:
        items = batch.add(3)
        results = {items[2]: {"n": 2}, items[0]: 0} if by_id else [0, None, {"n": 2}]
        assert len(batch.ack(items, results=results).results) == 3

    assert list(batch.results()) == [(items[0], 0), (items[2], {"n": 2})]


def test_results_that_fit_no_item_are_refused_before_anything_is_acked(fanin):
    batch = fanin.open(results=True)
    items = batch.add(2)
    for results, why in (
        ([1], "1 results for 2 items"),
        ({"b:g:0": 1}, "none of the items"),
        ("ab", "not a value of type str"),
        ({1, 2}, "a dict by item id, or a list"),
        ([1, object()], f"item {items[1]}: a result is a value of JSON"),
        ({items[1]: b"x"}, f"item {items[1]}: a result is a value of JSON, not bytes"),
        ([1, "a" * 65_536], f"item {items[1]}: the result of an item has at most"),
    ):
        with pytest.raises(InvalidRequest, match=why) as refused:
            batch.ack(items, results=results)
        assert refused.value.field == "results"
    with pytest.raises(InvalidRequest, match=f"item {items[0]} is named twice, with different results"):
        batch.ack([items[0], *items], results=[1, 2, 3])
    with pytest.raises(InvalidRequest, match="keeps no results: open it with the option results"):
        fanin.ack(fanin.open().add(1), results=[1])

    assert batch.status().acked == 0


def test_an_item_that_was_handed_over_gets_its_result_by_the_ack(fanin):
    with fanin.open(results=True) as batch:
        (item,) = batch.add(1)
        fanin.acks(results=True)(lambda _: fanin.hand_over())(
            {"Records": [{"messageId": "m", "body": item}]}, None
        )
        fanin.ack([item], results=["late"])

    assert list(batch.results()) == [(item, "late")]


def test_an_item_of_another_batch_is_refused_before_anything_is_read(fanin):
    batch, _ = ended(fanin, [1])
    _, (other,) = ended(fanin, [1])

    with pytest.raises(InvalidRequest, match="is not of batch"):
        batch.results(after=other)


def test_files_before_the_item_are_not_read(fanin):
    batch, items = ended(fanin, [0, 1, 2, 3])
    read = []

    class Source:
        def results(self, batch_id, cursor):
            return ResultFiles(True, tuple(ResultFile(n, lambda n=n: content(n)) for n in range(4)))

    def content(n):
        read.append(n)
        return gzip.compress(b'{"itemId":"%s","result":%d}\n' % (items[n].encode(), n))

    assert list(read_results(Source(), batch.id, items[1])) == [(items[2], 2), (items[3], 3)]
    assert read == [2, 3]


def test_the_reader_is_called_while_results_are_gathered_and_no_longer_than_that(monkeypatch):
    monkeypatch.setattr(result_files, "REAL", SimpleNamespace(sleep=lambda _: None))
    waited = []

    class Source:
        def results(self, batch_id, cursor):
            return ResultFiles(ready=len(waited) == 3)

    assert list(read_results(Source(), "b", waiting=lambda: waited.append(1))) == []
    assert len(waited) == 3
    monkeypatch.setattr(result_files, "LOOKS", 2)
    waited.clear()
    with pytest.raises(StoreUnavailable, match="read them again"):
        list(read_results(Source(), "b", waiting=lambda: waited.append(1)))
