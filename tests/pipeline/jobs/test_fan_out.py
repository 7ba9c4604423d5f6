from __future__ import annotations

import json
import re
from contextlib import nullcontext

import pytest

from pipeline.fan_out.messages import MESSAGE
from pipeline.jobs import fan_out
from pipeline.spark import datasets


@pytest.fixture
def job(spark, api, sqs, tmp_path, monkeypatch):
    """Runs the job with more arguments, in the session of the tests."""
    monkeypatch.setattr(fan_out, "spark_session", lambda name, cores: nullcontext(spark))
    monkeypatch.setattr(fan_out, "Fanin", lambda url, region: api)
    queue = sqs.queue
    places = ["--api-url", "http://127.0.0.1:1", "--manifest", str(tmp_path / "m")]
    to_queue = ["--queue-url", queue.url]
    where = [
        "--region",
        "us-east-1",
        "--endpoint-url",
        queue.endpoint,
        "--dataset",
        str(datasets.CATALOG_SLICE),
    ]
    return lambda *more, queue=True: fan_out.main([*places, *(to_queue if queue else []), *where, *more])


def test_events_are_json_lines_for_a_program_to_read(job, api, sqs, capsys):
    job("--limit", "30", "--json")

    events = {event["event"]: event for event in map(json.loads, capsys.readouterr().out.splitlines())}

    assert api.get(events["opened"]["batchId"]).total == events["sent"]["sent"] == len(sqs.messages) == 30


def test_events_print_as_sentences(job, capsys):
    job("--limit", "30")

    assert "sent 30 of 30" in capsys.readouterr().out


def test_a_dry_run_shows_counts_and_cost_and_does_nothing(job, sqs, tmp_path, capsys):
    job("--dry-run")

    assert capsys.readouterr().out.startswith("992 messages: 300 SQS requests, ")
    assert (sqs.seen, list(tmp_path.iterdir())) == (0, [])


def test_a_dry_run_needs_neither_queue_nor_api(spark, monkeypatch, capsys):
    monkeypatch.setattr(fan_out, "spark_session", lambda name, cores: nullcontext(spark))

    fan_out.main(["--dry-run", "--limit", "10"])

    assert capsys.readouterr().out.startswith("10 messages")


def test_messages_go_to_files_every_item_once_and_the_same_again(job, spark, api, tmp_path, capsys):
    files = str(tmp_path / "messages")
    for _ in range(2):
        job("--limit", "30", "--files", files, "--json", queue=False)

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    opened = next(event for event in events if event["event"] == "opened")
    rows = spark.read.parquet(files).collect()

    assert {row.item_id for row in rows} == {
        f"{opened['batchId']}:{opened['groupId']}:{index}" for index in range(30)
    }
    assert len(rows) == 30
    assert [event["sent"] for event in events if event["event"] == "saved"] == [30, 30]


def test_a_run_names_what_it_lacks(capsys):
    with pytest.raises(SystemExit):
        fan_out.main(["--queue-url", "http://127.0.0.1:1"])

    assert "required: --manifest, --api-url" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--files", "folder"], ["--files", "folder", "--rate", "1"]])
def test_a_queue_and_files_exclude_each_other(job, more, capsys):
    with pytest.raises(SystemExit):
        job(*more)

    assert "exclude each other" in capsys.readouterr().err


def test_a_dataset_without_rows_gives_files_without_rows(job, spark, tmp_path):
    (tmp_path / "none.csv").write_text("name,size\n")
    files = str(tmp_path / "messages")

    job("--dataset", str(tmp_path / "none.csv"), "--files", files, queue=False)

    assert (spark.read.parquet(files).columns, spark.read.parquet(files).count()) == ([*MESSAGE], 0)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("/nowhere.jsonl", "/nowhere.jsonl: Path does not exist: file:/nowhere.jsonl."),
        ("table:nowhere", "The table or view `nowhere` cannot be found."),
    ],
)
def test_a_dataset_that_is_not_there_is_one_line(job, dataset, said):
    with pytest.raises(SystemExit, match=re.escape(f"fan_out: {said}")) as end:
        job("--dataset", dataset)

    assert "\n" not in str(end.value)


def test_a_malformed_row_is_one_line_that_names_its_file(job, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"name":"a"}\n{"name":\n')

    with pytest.raises(SystemExit, match=r"^fan_out: .*rows\.jsonl: Malformed records [^\n]*$"):
        job("--dataset", str(tmp_path / "rows.jsonl"))


def test_a_message_that_sqs_refuses_is_one_line(job, sqs):
    sqs.judge = lambda number: "refuse"

    with pytest.raises(SystemExit, match=r"^fan_out: SQS refuses a message: refuse *$"):
        job("--limit", "3")


def test_a_batch_that_was_cancelled_is_not_sent_when_the_job_is_started_again(job, api, sqs):
    job("--limit", "3")
    batch_id = sqs.messages[0]["itemId"].partition(":")[0]
    api.cancel(batch_id)

    with pytest.raises(SystemExit, match=f"batch {batch_id} is CANCELLED; nothing was sent"):
        job("--limit", "3")

    assert len(sqs.messages) == 3


@pytest.mark.parametrize("option", ["--manifest", "--files"])
@pytest.mark.parametrize("name", ["notes.txt", "part-0.parquet"])
def test_what_the_job_did_not_write_is_not_written_over(job, sqs, tmp_path, option, name):
    kept = tmp_path / "kept" / name
    kept.parent.mkdir()
    kept.write_text("dear")

    with pytest.raises(SystemExit, match=f"kept holds {name}, which this job did not write"):
        job("--limit", "3", option, str(kept.parent), queue=option == "--manifest")

    assert kept.read_text() == "dear"


def test_what_is_committed_and_is_no_manifest_is_refused(job, spark, tmp_path):
    spark.range(3).write.parquet(str(tmp_path / "m"))

    with pytest.raises(SystemExit, match="holds no manifest of fan_out"):
        job("--limit", "3")


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf"])
def test_a_rate_is_a_number_above_0(job, rate, capsys):
    with pytest.raises(SystemExit, match="2"):
        job("--rate", rate)

    assert f"expected a number above 0, got {rate}" in capsys.readouterr().err


def test_a_message_group_is_one_that_sqs_takes(job):
    with pytest.raises(SystemExit, match="a message group is 1 to 128"):
        job("--message-group", "a b")


def test_a_mistake_of_the_caller_is_one_line(job):
    job("--limit", "10")

    with pytest.raises(SystemExit, match="name another --manifest"):
        job("--limit", "20")
