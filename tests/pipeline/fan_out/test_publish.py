"""A dataset is fanned out: each row is an item, and its id stays whatever fails and starts again."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from operator import itemgetter

import pytest

from fanin import Fanin
from fanin.client.consuming.chunks import chunk_of
from fanin.client.transports.direct import DirectTransport
from fanin.errors import InvalidRequest
from fanin.publishing.caps import Caps
from fanin.publishing.packing import BATCH_BYTES
from fanin.tracker import ItemId, State, Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.fan_out import manifest, publish
from pipeline.fan_out.on_spark import SparkEngine
from pipeline.fan_out.parts import RecordTooLong
from pipeline.fan_out.publish import FanOutRequest
from pipeline.shared_by_jobs import datasets
from tests.pipeline.conftest import StubQueue, recording_queue, restless

ITEMS = 992
CHUNK = 64
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
RUNS = (f"run-{number}" for number in itertools.count())
Item = tuple[str, str, str]


def request_of(sqs: StubQueue, folder, **more) -> FanOutRequest:
    return FanOutRequest(str(datasets.CATALOG_SLICE), f"{folder}/manifest", sqs.queue, "catalog-7", **more)


def run_job(spark, api, request, report=lambda event, facts: None) -> publish.FannedOut:
    return publish.fan_out(SparkEngine(spark), api, request, report, run=next(RUNS))


def items_in(sqs: StubQueue) -> list[Item]:
    """The id, the name and the version of each item in each message, as a consumer finds them."""
    chunks = [chunk_of({"messageId": "m", "body": body}) for body in sqs.bodies]
    items = [chunk.item(index) for chunk in chunks for index in chunk.items.indexes]
    return [(item.id, item.row["name"], item.row["version"]) for item in items]


@dataclass
class Run:
    """A job with second copies: its answer, its events, and the state of the batch as it was opened."""

    spark: object
    api: Fanin
    request: FanOutRequest
    sqs: StubQueue
    events: list[tuple[str, dict]] = field(default_factory=list)
    opened: list[tuple[State, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answer = run_job(self.spark, self.api, self.request, self.report)
        self.items = items_in(self.sqs)

    def report(self, event: str, facts: dict) -> None:
        self.events.append((event, facts))
        if event == "opened":
            self.opened.append((self.api.status(facts["batchId"]).state, self.sqs.seen))


@pytest.fixture(
    scope="module",
    params=[pytest.param(None, marks=pytest.mark.proof), CHUNK],
    ids=["row by row", "in chunks"],
)
def fanned_out(request, spark, tmp_path_factory):
    api = Fanin(DirectTransport(Tracker(MemoryStore()), "tenant"))
    with recording_queue() as sqs:
        more = {
            "chaos_duplicates": 10.0,
            "seed": 3,
            "chunk": request.param,
            "options": {"traceparent": TRACE},
        }
        yield Run(spark, api, request_of(sqs, tmp_path_factory.mktemp("run"), **more), sqs)


def test_every_row_is_sent_under_an_id_of_its_own_and_some_twice_on_purpose(fanned_out):
    times = Counter(item for item, _, _ in fanned_out.items)
    copies = fanned_out.answer.copies

    assert len(set(fanned_out.items)) == len(times)
    assert sorted(ItemId.parse(item).index for item in times) == list(range(ITEMS))
    assert len({(name, version) for _, name, version in fanned_out.items}) == ITEMS
    assert Counter(times.values()) == {1: ITEMS - copies, 2: copies}
    assert fanned_out.answer == publish.FannedOut(fanned_out.answer.batch_id, sent=ITEMS, copies=copies)


def test_each_message_carries_the_trace_of_its_batch(fanned_out):
    assert fanned_out.sqs.traces == {TRACE}


def test_the_batch_is_closed_before_its_first_message_and_complete_after_its_last_ack(fanned_out):
    batch_id, ids = fanned_out.answer.batch_id, [item for item, _, _ in fanned_out.items]
    last = ids[0]
    fanned_out.api.ack(item_id for item_id in ids if item_id != last)
    before = fanned_out.api.status(batch_id).state
    fanned_out.api.ack([last])
    again = run_job(fanned_out.spark, fanned_out.api, fanned_out.request)

    assert fanned_out.opened == [(State.CLOSED, 0)]
    assert (before, fanned_out.api.status(batch_id).state) == (State.CLOSED, State.COMPLETE)
    assert (again, items_in(fanned_out.sqs)) == (publish.FannedOut(batch_id, sent=0), fanned_out.items)


@pytest.fixture
def asked(sqs, tmp_path) -> FanOutRequest:
    return request_of(sqs, tmp_path)


@pytest.fixture
def unstable_catalog(monkeypatch) -> None:
    """The dataset comes in four parts, never twice in the same order, and one of its tasks dies half-way."""
    read = datasets.read_dataset

    def read_unstable(*arguments):
        rows = read(*arguments).repartition(4)
        return rows.mapInArrow(restless, rows.schema)

    monkeypatch.setattr(datasets, "read_dataset", read_unstable)


@pytest.mark.proof
def test_a_task_that_dies_sending_repeats_rows_under_the_positions_of_the_manifest(
    spark, api, asked, sqs, unstable_catalog
):
    sqs.judge = lambda number: "refuse" if number == 300 else "accept"

    run_job(spark, api, asked)

    committed = manifest.load(spark, asked.manifest)
    placed = manifest.positions(committed, manifest.measure(committed.rows)).collect()
    sent = {(ItemId.parse(item).index, name, version) for item, name, version in items_in(sqs)}
    assert len(sqs.messages) > ITEMS == len({item for item, _, _ in items_in(sqs)})
    assert sent == {(row.position, *itemgetter("name", "version")(json.loads(row.record))) for row in placed}


def test_started_again_after_a_death_it_sends_under_the_ids_it_had(spark, api, asked, sqs, unstable_catalog):
    request, messages = replace(asked, chunk=CHUNK), -(-ITEMS // CHUNK)
    sqs.judge = lambda number: "refuse" if number > messages // 2 else "accept"
    with pytest.raises(Exception, match="SQS refuses a message"):
        run_job(spark, api, request)
    before = set(items_in(sqs))
    sqs.judge = lambda number: "accept"

    answer = run_job(spark, api, request)

    texts = {body.partition(',"sentAt"')[0] for body in sqs.bodies}
    assert 0 < len(before) < ITEMS
    assert len(set(items_in(sqs))) == len({item for item, _, _ in items_in(sqs)}) == ITEMS
    assert len(texts) == messages
    assert {ItemId.parse(item_id).batch_id for item_id, _, _ in before} == {answer.batch_id}


@pytest.mark.proof
def test_a_death_between_open_and_add_leaves_one_batch_and_one_group(spark, api, asked, sqs):
    def die(event, facts):
        if event == "opened":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        run_job(spark, api, asked, die)

    answer = run_job(spark, api, asked)

    assert api.status(answer.batch_id).total == len(sqs.messages) == ITEMS


def test_an_empty_dataset_completes_at_close_and_sends_nothing(spark, api, asked, sqs):
    answer = run_job(spark, api, replace(asked, limit=0))

    assert (api.status(answer.batch_id).state, api.status(answer.batch_id).total) == (State.COMPLETE, 0)
    assert sqs.seen == 0


@pytest.mark.parametrize(
    ("more", "messages"),
    [({"chaos_duplicates": 50.0}, ITEMS * 3 // 2), ({"chunk": CHUNK}, -(-ITEMS // CHUNK))],
    ids=str,
)
def test_a_preview_counts_messages_and_neither_writes_nor_sends(spark, asked, sqs, tmp_path, more, messages):
    assert publish.preview(SparkEngine(spark), replace(asked, **more)).messages == messages
    assert (sqs.seen, list(tmp_path.iterdir())) == (0, [])


@pytest.mark.parametrize("caps", [Caps(max_items=ITEMS - 1), Caps(max_cost=0.0001)])
def test_a_dataset_that_passes_a_cap_is_refused_before_a_batch_is_opened(spark, api, asked, caps):
    with pytest.raises(InvalidRequest, match="nothing was sent"):
        run_job(spark, api, replace(asked, caps=caps))

    assert list(api.batches()) == []


@pytest.mark.parametrize("chunk", [None, CHUNK])
def test_a_row_too_long_for_a_message_is_refused_before_a_batch_is_opened(spark, asked, tmp_path, chunk):
    long = tmp_path / "long.jsonl"
    long.write_text('{"text": "' + "x" * BATCH_BYTES + '"}\n')

    with pytest.raises(RecordTooLong):
        run_job(spark, None, replace(asked, dataset=str(long), chunk=chunk))
