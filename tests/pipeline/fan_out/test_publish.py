from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from fanin.publishing.packing import BATCH_BYTES
from fanin.tracker import ItemId, State
from pipeline.fan_out import manifest, publish, send
from pipeline.fan_out.publish import FanOutRequest
from pipeline.spark import datasets
from tests.pipeline.conftest import restless

ITEMS = 992
RUNS = (f"run-{number}" for number in itertools.count())


@pytest.fixture
def asked(sqs, tmp_path) -> FanOutRequest:
    return FanOutRequest(str(datasets.CATALOG_SLICE), str(tmp_path / "manifest"), sqs.queue, "catalog-7")


def fan_out(spark, api, asked, report=lambda event, facts: None) -> publish.FannedOut:
    return publish.fan_out(spark, api, asked, report, run=next(RUNS))


def named(messages: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Which id stands for which package, over all messages."""
    return {(m["itemId"], m["record"]["name"], m["record"]["version"]) for m in messages}


def unstable_catalog(monkeypatch) -> None:
    """The dataset comes in four parts, never twice in the same order, and one of its tasks dies half-way."""
    read = datasets.read_dataset

    def read_unstable(*arguments):
        rows = read(*arguments).repartition(4)
        return rows.mapInArrow(restless, rows.schema)

    monkeypatch.setattr(datasets, "read_dataset", read_unstable)


def test_every_row_is_sent_once_under_an_id_of_its_own_ten_to_a_request(spark, api, asked, sqs):
    done = fan_out(spark, api, asked)

    ids = [ItemId.parse(message["itemId"]) for message in sqs.messages]

    assert sorted(item.index for item in ids) == list(range(ITEMS))
    assert {item.batch_id for item in ids} == {done.batch_id}
    assert len({(m["record"]["name"], m["record"]["version"]) for m in sqs.messages}) == ITEMS
    assert Counter(sqs.requests)[10] >= ITEMS // 10 - 2
    assert done == publish.FannedOut(done.batch_id, sent=ITEMS, copies=0, retried=0)


def test_acking_what_was_sent_completes_the_batch_and_not_an_item_earlier(spark, api, asked, sqs):
    done = fan_out(spark, api, replace(asked, chaos_duplicates=10.0))
    ids = [message["itemId"] for message in sqs.messages]
    last = ids[0]

    api.ack(item_id for item_id in ids if item_id != last)
    before = api.get(done.batch_id).state
    api.ack([last])

    assert (before, api.get(done.batch_id).state) == (State.CLOSED, State.COMPLETE)


def test_the_batch_is_closed_before_its_first_message(spark, api, asked, sqs):
    states = []

    def report(event, facts):
        if event == "opened":
            states.append((api.get(facts["batchId"]).state, sqs.seen))

    fan_out(spark, api, asked, report)

    assert states == [(State.CLOSED, 0)]


def test_entries_that_fail_are_sent_again_until_they_are_in(spark, api, asked, sqs):
    sqs.judge = lambda number: "InternalError" if number % 100 == 0 else "accept"

    done = fan_out(spark, api, asked)

    assert Counter(message["itemId"] for message in sqs.messages).most_common(1)[0][1] == 1
    assert len(sqs.messages) == ITEMS
    assert done.retried == sqs.seen - ITEMS > 0


def test_a_task_that_dies_sending_repeats_ids_and_makes_none(spark, api, asked, sqs, monkeypatch):
    unstable_catalog(monkeypatch)
    sqs.judge = lambda number: "refuse" if number == 300 else "accept"

    fan_out(spark, api, asked)

    assert len(sqs.messages) > ITEMS
    assert len({message["itemId"] for message in sqs.messages}) == len(named(sqs.messages)) == ITEMS


def test_a_row_is_sent_under_the_position_that_the_manifest_holds(spark, api, asked, sqs, monkeypatch):
    unstable_catalog(monkeypatch)
    sqs.judge = lambda number: "refuse" if number == 300 else "accept"

    fan_out(spark, api, asked)

    committed, _ = manifest.load(spark, asked.manifest)
    placed = manifest.positions(committed, manifest.measure(committed.rows)).collect()
    written = {(row.position, row.record.name, row.record.version) for row in placed}
    assert {(ItemId.parse(i).index, name, version) for i, name, version in named(sqs.messages)} == written


def test_started_again_after_a_death_it_sends_under_the_ids_it_had(spark, api, asked, sqs, monkeypatch):
    unstable_catalog(monkeypatch)
    sqs.judge = lambda number: "refuse" if number > 400 else "accept"
    with pytest.raises(Exception, match="SQS refuses a message"):
        fan_out(spark, api, asked)
    before = set(named(sqs.messages))
    sqs.judge = lambda number: "accept"

    done = fan_out(spark, api, asked)

    assert 0 < len(before) < ITEMS
    assert len(named(sqs.messages)) == len({message["itemId"] for message in sqs.messages}) == ITEMS
    assert {ItemId.parse(item_id).batch_id for item_id, _, _ in before} == {done.batch_id}


def test_a_death_between_open_and_add_leaves_one_batch_and_one_group(spark, api, asked, sqs):
    class Dies(Exception):
        pass

    def report(event, facts):
        if event == "opened":
            raise Dies

    with pytest.raises(Dies):
        fan_out(spark, api, asked, report)

    done = fan_out(spark, api, asked)

    assert api.get(done.batch_id).total == len(sqs.messages) == ITEMS


def test_a_complete_batch_is_not_sent_again(spark, api, asked, sqs):
    done = fan_out(spark, api, asked)
    api.ack(message["itemId"] for message in sqs.messages)

    again = fan_out(spark, api, asked)

    assert again == publish.FannedOut(done.batch_id, sent=0)
    assert len(sqs.messages) == ITEMS


def test_an_empty_dataset_completes_at_close_and_sends_nothing(spark, api, asked, sqs):
    done = fan_out(spark, api, replace(asked, limit=0))

    assert (api.get(done.batch_id).state, api.get(done.batch_id).total) == (State.COMPLETE, 0)
    assert sqs.seen == 0


def test_chaos_sends_some_items_twice_with_the_same_body_but_for_the_time(spark, api, asked, sqs):
    done = fan_out(spark, api, replace(asked, chaos_duplicates=10.0, seed=3))

    often = Counter(message["itemId"] for message in sqs.messages)

    assert Counter(often.values()) == {1: ITEMS - done.copies, 2: done.copies}
    assert 50 < done.copies < 150
    assert len(named(sqs.messages)) == ITEMS


def test_a_limit_fans_out_so_many_rows(spark, api, asked, sqs):
    done = fan_out(spark, api, replace(asked, limit=25))

    assert api.get(done.batch_id).total == len(sqs.messages) == 25


def test_what_happens_is_reported_in_order(spark, api, asked):
    events: list[tuple[str, dict[str, Any]]] = []

    done = fan_out(spark, api, asked, lambda event, facts: events.append((event, facts)))

    assert [event for event, _ in events if event != "progress"] == ["manifest", "opened", "sent"]
    assert events[1][1]["batchId"] == done.batch_id
    assert (events[-1][1]["sent"], events[-1][1]["items"]) == (ITEMS, ITEMS)


def test_a_rate_is_shared_by_the_tasks_that_run_at_once(spark, api, asked, monkeypatch):
    rates = []
    monkeypatch.setattr(send, "send_frame", lambda messages, queue, tally, rate, *_: rates.append(rate))

    fan_out(spark, api, replace(asked, rate=500.0))

    assert rates == [250.0]


def test_a_preview_counts_and_neither_writes_nor_sends(spark, asked, sqs, tmp_path):
    estimate = publish.preview(spark, asked)

    assert estimate.messages == ITEMS
    assert sqs.seen == 0
    assert list(tmp_path.iterdir()) == []


def test_a_preview_counts_the_copies_of_chaos(spark, asked):
    assert publish.preview(spark, replace(asked, chaos_duplicates=50.0)).messages == ITEMS * 3 // 2


def test_a_row_too_long_for_a_message_is_refused_before_a_batch_is_opened(spark, api, asked, tmp_path):
    long = tmp_path / "long.jsonl"
    long.write_text('{"text": "' + "x" * BATCH_BYTES + '"}\n')

    with pytest.raises(publish.RecordTooLong):
        fan_out(spark, None, replace(asked, dataset=str(long)))


@pytest.mark.parametrize(("items", "tasks"), [(0, 2), (4096, 2), (4097, 3), (10**9, 10_000)])
def test_tasks_are_small_and_never_too_many(items, tasks):
    assert send.task_count(items, slots=2) == tasks
