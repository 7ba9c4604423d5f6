"""A dataset has the same items by each engine: Spark's frames, its tasks of Arrow, this machine."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import format_span_id

from fanin.client.consuming.chunks import chunk_of
from fanin.local.emulator_process.connection import CREDENTIALS
from fanin.publishing.packing import BATCH_BYTES
from pipeline.engine_without_spark import output
from pipeline.fan_out import arrow_files, json_texts, manifest, on_spark, publish
from pipeline.fan_out.local import LocalEngine
from pipeline.fan_out.on_spark import SparkEngine
from pipeline.fan_out.parts import AnotherSource, Damaged, RecordTooLong
from pipeline.fan_out.publish import FanOutRequest
from pipeline.shared_by_jobs.output import is_committed
from tests.client.tracing import Spans

NOON = datetime(2026, 1, 2, 12, 0, 0, 1, UTC)
KINDS = pa.table(
    {
        "text": ['a "b" \\ \n\x01 é \uffff', None, ""],
        'we"ird': pa.array([1, None, -3], pa.int32()),
        "double": [1.0, None, 1e30],
        "moment": pa.array([NOON, None, NOON], pa.timestamp("us", "UTC")),
        "local": pa.array([NOON.replace(tzinfo=None), None, None], pa.timestamp("ms")),
        "day": [date(2026, 1, 2), None, None],
        "money": pa.array([Decimal("1.50"), None, None], pa.decimal128(9, 2)),
        "flag": [True, None, False],
        "kind": pa.array(["p", None, "q"]).dictionary_encode(),
        "inner": pa.array([{"u": 1, "v": None}, None, {"u": None, "v": "x"}]),
        "list": [[{"k": "a"}, None], None, []],
    }
)
ROWS = [
    {
        "text": 'a "b" \\ \n\x01 é \uffff',
        'we"ird': 1,
        "double": 1.0,
        "moment": "2026-01-02T12:00:00.000001Z",
        "local": "2026-01-02T12:00:00.000000",
        "day": "2026-01-02",
        "money": 1.5,
        "flag": True,
        "kind": "p",
        "inner": {"u": 1},
        "list": [{"k": "a"}, None],
    },
    {},
    {"text": "", 'we"ird': -3, "double": 1e30, "moment": "2026-01-02T12:00:00.000001Z"}
    | {"flag": False, "kind": "q", "inner": {"v": "x"}, "list": []},
]
ITEMS = 2500


@pytest.fixture(params=["frames", "tasks", "local"])
def engine(request, spark, monkeypatch) -> publish.Engine:
    if request.param == "local":
        return LocalEngine(2, size=1)
    if request.param == "frames":
        monkeypatch.setattr(on_spark, "_check_places", refuse)
    return SparkEngine(spark)


def refuse(request: FanOutRequest) -> None:
    raise arrow_files.NotByArrow("the test wants frames")


@pytest.fixture
def asked(tmp_path) -> FanOutRequest:
    """A request for many rows in several row groups."""
    pq.write_table(pa.table({"n": range(ITEMS)}), tmp_path / "d.parquet", row_group_size=600)
    place = str(tmp_path)
    return FanOutRequest(f"{place}/d.parquet", f"{place}/m", None, "k", f"{place}/f")


def fan_out(engine, api, request, report=lambda event, facts: None) -> publish.FannedOut:
    return publish.fan_out(engine, api, request, report, run="run")


def messages(request: FanOutRequest) -> dict[str, dict]:
    rows = pq.read_table(request.files).to_pylist()
    assert all(row["item_id"].endswith(f":{row['position']}") for row in rows)
    assert sorted(row["position"] for row in rows) == list(range(len(rows)))
    return {row["item_id"]: json.loads(row["record"]) for row in rows}


def test_rows_of_every_kind_become_the_same_json(engine, api, asked):
    pq.write_table(KINDS, asked.dataset)

    answer = fan_out(engine, api, asked)

    found = messages(asked)
    assert sorted(found.values(), key=len) == sorted(ROWS, key=len)
    assert "\uffff" not in str(pq.read_table(asked.files)["record"])
    assert (answer.sent, api.status(answer.batch_id).total) == (3, 3)


def test_a_run_that_died_before_its_commit_is_repeated_under_the_ids_it_had(engine, api, asked, monkeypatch):
    def die(event, facts):
        if event == "opened":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fan_out(engine, api, asked, die)
    output.clear(str(asked.files))
    with output.writing(str(asked.files), "dead", pa.schema([])):
        pass

    answers = [fan_out(engine, api, asked) for _ in range(2)]

    found = messages(asked)
    assert answers[0] == answers[1]
    assert answers[0].sent == len(found) == ITEMS == api.status(answers[0].batch_id).total
    assert len(list(api.batches())) == 1
    assert sorted(row["n"] for row in found.values()) == list(range(ITEMS))


def test_messages_of_another_batch_are_replaced(engine, api, asked):
    first = fan_out(engine, api, replace(asked, manifest=f"{asked.manifest}-first"))

    second = publish.fan_out(engine, api, asked, lambda event, facts: None, run="run-2")

    assert first.batch_id != second.batch_id
    assert {item_id.partition(":")[0] for item_id in messages(asked)} == {second.batch_id}


@pytest.mark.parametrize("way", ["frames", "arrow"])
@pytest.mark.parametrize("files", [True, False])
def test_a_manifest_has_each_row_at_the_position_of_its_item(spark, api, asked, way, files):
    """Also where the manifest is the messages, and whichever reads it."""
    request = replace(asked, limit=700)
    if files:
        fan_out(LocalEngine(1), api, request)
    else:
        LocalEngine(1).number(replace(request, files=None), "run")
    if way == "frames":
        loaded = manifest.load(spark, asked.manifest)
        rows = manifest.positions(loaded, manifest.count(loaded)).collect()
        found = {row.position: json.loads(row.record)["n"] for row in rows}
    else:
        stored = arrow_files.with_rows(arrow_files.load(asked.manifest))
        some = arrow_files.rows_at(stored, pa.array([0, 599, 600, 699]).to_numpy())
        found = {
            at.as_py(): json.loads(str(text))["n"] for pair in some for at, text in zip(*pair, strict=True)
        }

    assert all(position == n for position, n in found.items())
    assert set(found) == (set(range(700)) if way == "frames" else {0, 599, 600, 699})


@pytest.mark.parametrize("chunk", [None, 64])
def test_this_machine_sends_each_row_once_in_whole_chunks_that_name_the_span_of_the_job(
    api, asked, sqs, chunk, monkeypatch
):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    request, spans = replace(asked, files=None, queue=sqs.queue, chunk=chunk), Spans(monkeypatch)

    answer = fan_out(LocalEngine(1), api, request)

    chunks = [chunk_of({"messageId": "m", "body": body}) for body in sqs.bodies]
    items = [chunk.item(index) for chunk in chunks for index in chunk.items.indexes]
    assert Counter(item.id for item in items) == Counter(
        f"{answer.batch_id}:{items[0].id.split(':')[1]}:{item.row['n']}" for item in items
    )
    assert answer.sent == len({item.id for item in items}) == len(items) == ITEMS
    assert len(sqs.bodies) == math.ceil(ITEMS / (chunk or 1))
    assert [text.split("-")[2] for text in sqs.traces] == [
        format_span_id(span.context.span_id) for span in spans.named("send work")
    ]


def test_a_dataset_that_changed_before_its_messages_were_saved_is_refused(api, asked):
    engine = LocalEngine(1)
    engine.number(asked, "run")
    pq.write_table(pa.table({"n": range(3)}), asked.dataset)

    with pytest.raises(AnotherSource, match="has 3 rows, and had 2,500: name another --manifest"):
        fan_out(engine, api, asked)


def test_a_row_too_long_for_a_queue_is_not_saved_either(engine, api, asked):
    pq.write_table(pa.table({"text": ["x" * BATCH_BYTES]}), asked.dataset)

    with pytest.raises(RecordTooLong):
        fan_out(engine, api, asked)

    assert not is_committed(str(asked.files))


def test_messages_that_were_replaced_are_no_manifest(spark, api, asked):
    fan_out(LocalEngine(1), api, asked)
    another = replace(asked, manifest=f"{asked.manifest}-2", limit=5)
    publish.fan_out(LocalEngine(1), api, another, lambda event, facts: None, run="run-2")

    with pytest.raises(Damaged, match="does not hold the 2,500 messages"):
        arrow_files.with_rows(arrow_files.load(asked.manifest))
    with pytest.raises(Damaged, match="does not hold the 2,500 messages"):
        manifest.count(manifest.load(spark, asked.manifest))


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array([b"x"]), "column c is of the type binary"),
        (pa.array([NOON], pa.timestamp("ns")), r"column c is of the type timestamp\[ns\]"),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "column c is of the type map"),
    ],
)
def test_a_column_that_only_spark_writes_is_named(asked, column, why):
    pq.write_table(pa.table({"c": column}), asked.dataset)

    with pytest.raises(json_texts.NoJson, match=why):
        LocalEngine(1).list_dataset(asked)


TEXT = st.one_of(st.none(), st.text(), st.sampled_from(['"', "\\", "\x00", "\x1f", "\ufffe", "\uffff"]))
NUMBER = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(st.tuples(TEXT, NUMBER, st.lists(TEXT, max_size=3)), min_size=1, max_size=20), st.data())
def test_json_has_the_values_of_the_row_without_nulls(rows, data):
    table = pa.table(
        {
            "text": pa.array([row[0] for row in rows], pa.string()),
            "number": pa.array([row[1] for row in rows], pa.float64()),
            "list": pa.array([row[2] for row in rows], pa.list_(pa.string())),
        }
    )
    first = data.draw(st.integers(0, len(rows) - 1))

    texts = json_texts.rows_of(table.to_batches()[0].slice(first)).to_pylist()

    wanted = [dict(zip(table.column_names, row, strict=True)) for row in rows[first:]]
    assert [json.loads(text) for text in texts] == [
        {name: value for name, value in row.items() if value is not None} for row in wanted
    ]
    assert not set("\ufffe\uffff") & set("".join(texts))
