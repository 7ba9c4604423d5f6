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
    places = ["--api-url", "http://127.0.0.1:1", "--queue-url", queue.url, "--manifest", str(tmp_path / "m")]
    where = [
        "--region",
        "us-east-1",
        "--endpoint-url",
        queue.endpoint,
        "--dataset",
        str(sources.CATALOG_SLICE),
    ]
    return lambda *more: fan_out.main([*places, *where, *more])


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


def test_a_run_names_what_it_lacks(capsys):
    with pytest.raises(SystemExit):
        fan_out.main(["--queue-url", "http://127.0.0.1:1"])

    assert "needed: --manifest, --api-url" in capsys.readouterr().err


def test_a_mistake_of_the_caller_is_one_line(job):
    job("--limit", "10")

    with pytest.raises(SystemExit, match="name another --manifest"):
        job("--limit", "20")
