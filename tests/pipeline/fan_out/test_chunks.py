"""One message for a chunk of rows: which rows it has, and that it is the same at every attempt."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import partial

import pytest
from pyspark.sql import Row

from fanin.client.consuming.chunks import chunk_of
from fanin.publishing.packing import MESSAGE_BYTES, chunked, singly
from pipeline.fan_out import publish
from pipeline.fan_out.publish import FanOutRequest
from pipeline.spark import datasets
from tests.pipeline.conftest import restless

BATCH = "00000000-0000-4000-8000-000000000001"
ITEMS = 992
RUNS = (f"chunk-run-{number}" for number in itertools.count())


@pytest.fixture
def asked(sqs, tmp_path) -> FanOutRequest:
    manifest = str(tmp_path / "manifest")
    return FanOutRequest(str(datasets.CATALOG_SLICE), manifest, sqs.queue, "k", chunk=64)


def row(position: int, record: str = "{}", copy: int = 1) -> Row:
    return Row(position=position, copy=copy, item_id=f"{BATCH}:{BATCH}:{position}", record=record)


def ranges(rows: list[Row], size: int) -> list[tuple[int, str]]:
    return [(m.copy, json.loads(m.body)["items"].rpartition(":")[2]) for m in chunked(rows, size)]


def test_rows_are_cut_at_multiples_at_gaps_and_between_copies():
    rows = [row(at) for at in (5, 6, 7, 8, 9, 12, 13, 16)] + [row(at, copy=2) for at in (12, 13)]

    assert ranges(rows, 8) == [(1, "5-7"), (1, "8-9"), (1, "12-13"), (1, "16-16"), (2, "12-13")]
    assert [message.items for message in chunked(rows, 8)] == [3, 2, 2, 1, 2]
    assert list(chunked([], 8)) == []


def test_a_message_of_long_rows_is_sent_in_parts_and_one_long_row_by_itself():
    wide, longest = json.dumps("x" * (MESSAGE_BYTES // 4)), json.dumps("é" * MESSAGE_BYTES)
    rows = [*(row(at, wide) for at in range(4)), row(4, longest), row(5)]
    sizes = [len(message.body.encode()) for message in chunked(rows, 8)]

    assert ranges(rows, 8) == [(1, "0-2"), (1, "3-3"), (1, "4-4"), (1, "5-5")]
    assert all(size <= MESSAGE_BYTES for size in (*sizes[:2], sizes[3]))


def seen(sqs) -> dict[str, tuple[str, str]]:
    """The row of each item, as a consumer of the messages finds it; each item once."""
    found = {}
    for body in sqs.bodies:
        chunk = chunk_of({"messageId": "m", "body": body})
        for index in chunk.items.indexes:
            item = chunk.item(index)
            assert item.id not in found
            found[item.id] = (item.row["name"], item.row["version"])
    return found


def test_every_row_is_in_one_message_under_its_own_id(spark, api, asked, sqs):
    done = publish.fan_out(spark, api, asked, lambda event, facts: None, run=next(RUNS))
    found = seen(sqs)
    api.ack(list(found))

    assert (len(found), len(set(found.values()))) == (ITEMS, ITEMS)
    assert len(sqs.bodies) == -(-ITEMS // 64)
    assert done == publish.FannedOut(done.batch_id, sent=ITEMS)
    assert api.get(done.batch_id).is_complete


def test_another_attempt_and_a_resumed_job_send_the_same_messages(spark, api, asked, sqs, monkeypatch):
    read = datasets.read_dataset

    def unstable(*arguments):
        rows = read(*arguments).repartition(4)
        return rows.mapInArrow(restless, rows.schema)

    monkeypatch.setattr(datasets, "read_dataset", unstable)
    messages = []
    for _ in range(2):
        publish.fan_out(spark, api, asked, lambda event, facts: None, run=next(RUNS))
        messages.append({body.partition(',"sentAt"')[0] for body in sqs.bodies})
        assert len(seen(sqs)) == ITEMS
        sqs.bodies.clear()

    assert messages[0] == messages[1]


def test_a_copy_is_one_of_a_whole_chunk(spark, api, asked, sqs):
    request = replace(asked, chaos_duplicates=50.0)
    done = publish.fan_out(spark, api, request, lambda event, facts: None, run=next(RUNS))
    texts = [json.loads(body)["items"] for body in sqs.bodies]

    assert 0 < done.copies < ITEMS
    assert sum(texts.count(text) == 2 for text in set(texts)) == len(texts) - len(set(texts))
    assert len(set(texts)) == -(-ITEMS // 64)


def test_the_estimate_is_that_of_chunks(spark, asked):
    found = publish.preview(spark, asked)

    assert found.messages == -(-ITEMS // 64)
    assert found.least_writes == found.most_writes == found.messages + 2


def test_messages_of_one_are_what_they_were():
    body = next(iter(singly(iter([row(3)])))).body

    assert json.loads(body)["itemId"] == f"{BATCH}:{BATCH}:3"


def test_a_task_packs_what_is_left_of_its_rows():
    kept = partial(filter, lambda row: row.position % 10 != 3)

    assert ranges(list(kept([row(at) for at in range(16)])), 8) == [
        (1, "0-2"),
        (1, "4-7"),
        (1, "8-12"),
        (1, "14-15"),
    ]
