from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from pipeline import sources
from pipeline.jobs import fan_out


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
        str(sources.CATALOG_SLICE),
    ]
    return lambda *more, queue=True: fan_out.main([*places, *(to_queue if queue else []), *where, *more])


def test_events_are_json_lines_for_a_program_to_read(job, api, sqs, capsys):
    job("--limit", "30", "--json")

    events = {event["event"]: event for event in map(json.loads, capsys.readouterr().out.splitlines())}

    assert api.get(events["opened"]["batchId"]).total == events["sent"]["sent"] == len(sqs.messages) == 30


def test_a_person_is_told_in_sentences(job, capsys):
    job("--limit", "30")

    assert "sent 30 of 30" in capsys.readouterr().out


def test_a_dry_run_tells_counts_and_cost_and_does_nothing(job, sqs, tmp_path, capsys):
    job("--dry-run")

    assert capsys.readouterr().out.startswith("992 messages: 300 SQS requests, ")
    assert (sqs.seen, list(tmp_path.iterdir())) == (0, [])


def test_a_dry_run_needs_neither_queue_nor_api(spark, monkeypatch, capsys):
    monkeypatch.setattr(fan_out, "spark_session", lambda name, cores: nullcontext(spark))

    fan_out.main(["--dry-run", "--limit", "10"])

    assert capsys.readouterr().out.startswith("10 messages")


def test_messages_go_to_files_on_wish_every_item_once_and_the_same_again(job, spark, api, tmp_path, capsys):
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

    assert "needed: --manifest, --api-url" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--files", "folder"], ["--files", "folder", "--rate", "1"]])
def test_a_queue_and_files_exclude_each_other(job, more, capsys):
    with pytest.raises(SystemExit):
        job(*more)

    assert "exclude each other" in capsys.readouterr().err


def test_a_mistake_of_the_caller_is_one_line(job):
    job("--limit", "10")

    with pytest.raises(SystemExit, match="name another --manifest"):
        job("--limit", "20")
