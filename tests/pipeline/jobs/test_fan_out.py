"""The command fan_out: its options, what it prints, and its refusals in one line."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from datetime import timedelta

import pytest

from pipeline.fan_out.messages import MESSAGE
from pipeline.jobs import fan_out
from pipeline.shared_by_jobs import datasets, session


@pytest.fixture
def job(spark, api, sqs, tmp_path, monkeypatch):
    """Runs the job with more arguments, in the session of the tests."""
    monkeypatch.setattr(session, "spark_session", lambda name, cores: nullcontext(spark))
    monkeypatch.setattr(fan_out, "Fanin", lambda url, region: api)
    places = ["--api-url", "http://127.0.0.1:1", "--manifest", str(tmp_path / "m"), "--region", "us-east-1"]
    to_queue = ["--queue-url", sqs.queue.url]
    of = ["--endpoint-url", sqs.queue.endpoint, "--dataset", str(datasets.CATALOG_SLICE)]
    return lambda *more, queue=True: fan_out.main([*places, *(to_queue if queue else []), *of, *more])


def test_events_are_json_lines_or_sentences_and_a_batch_that_was_cancelled_is_not_sent_again(
    job, api, sqs, capsys
):
    job("--limit", "30", "--json")
    events = {event["event"]: event for event in map(json.loads, capsys.readouterr().out.splitlines())}
    assert api.status(events["opened"]["batchId"]).total == events["sent"]["sent"] == len(sqs.messages) == 30

    job("--limit", "30")
    assert "sent 30 of 30" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="name another --manifest"):
        job("--limit", "20")

    sent, batch_id = len(sqs.messages), events["opened"]["batchId"]
    api.cancel(batch_id)
    with pytest.raises(SystemExit, match=f"batch {batch_id} is CANCELLED; nothing was sent"):
        job("--limit", "30")
    assert len(sqs.messages) == sent


def test_the_batch_has_the_options_of_the_command_line(job, api, sqs, capsys):
    options = "--min-succeeded 7 --max-cost 1 --retention open=9d --notify-at 50% --deadline 6h"
    job("--limit", "30", "--json", "--max-failure-percent", "5", "--stuck-after", "1h", *options.split())
    opened = next(
        event for event in map(json.loads, capsys.readouterr().out.splitlines()) if "batchId" in event
    )
    status = api.status(opened["batchId"])

    assert (status.min_succeeded, status.max_failure_percent, status.notify_at) == (7, 5, ("50%",))
    assert (status.stuck_after, status.deadline_at - status.created_at) == (
        timedelta(hours=1),
        timedelta(hours=6),
    )


def test_messages_go_to_files_every_item_once_and_the_same_again(job, spark, tmp_path, capsys):
    files = str(tmp_path / "messages")
    for _ in range(2):
        job("--limit", "30", "--files", files, "--json", queue=False)

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    opened = next(event for event in events if event["event"] == "opened")
    group = f"{opened['batchId']}:{opened['groupId']}"
    rows = spark.read.parquet(files).collect()

    assert sorted(row.item_id for row in rows) == sorted(f"{group}:{index}" for index in range(30))
    assert [event["sent"] for event in events if event["event"] == "saved"] == [30, 30]


@pytest.mark.proof
def test_a_dataset_without_rows_gives_files_without_rows(job, spark, tmp_path):
    (tmp_path / "none.csv").write_text("name,size\n")
    files = str(tmp_path / "messages")

    job("--dataset", str(tmp_path / "none.csv"), "--files", files, queue=False)

    assert (spark.read.parquet(files).columns, spark.read.parquet(files).count()) == ([*MESSAGE], 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--files folder", "exclude each other"),
        ("--rate 0", "expected a number above 0, got 0"),
        ("--rate -1", "expected a number above 0, got -1"),
        ("--rate nan", "expected a number above 0, got nan"),
        ("--rate inf", "expected a number above 0, got inf"),
        ("--notify-at 51%", "invalid choice: '51%'"),
        ("--task-token-file /nowhere", "/nowhere cannot be read: No such file or directory"),
    ],
)
def test_options_that_do_not_go_together_are_refused(job, options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        job(*options.split())

    assert message in capsys.readouterr().err


NOWHERE = "/nowhere.jsonl: Path does not exist: file:/nowhere.jsonl."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "/nowhere.jsonl"], re.escape(f"fan_out: {NOWHERE}")),
        (["--dataset", "MALFORMED"], r"fan_out: .*rows\.jsonl: Malformed records [^\n]*"),
        (["--message-group", "a b"], "fan_out: a message group is 1 to 128.*"),
        (["--deadline", "soon"], "fan_out: 'soon' is not a duration: .*"),
        (["--failure-sample", "3"], "fan_out: failureSample is for a batch with a maxFailurePercent"),
    ],
)
def test_what_stops_the_job_is_one_line(job, tmp_path, options, message):
    malformed = tmp_path / "rows.jsonl"
    malformed.write_text('{"name":"a"}\n{"name":\n')

    with pytest.raises(SystemExit, match=f"^{message}$") as end:
        job(*(str(malformed) if option == "MALFORMED" else option for option in options))

    assert "\n" not in str(end.value)


@pytest.mark.parametrize(("option", "name"), [("--manifest", "notes.txt"), ("--files", "part-0.parquet")])
def test_what_the_job_did_not_write_is_not_written_over(job, tmp_path, option, name):
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
