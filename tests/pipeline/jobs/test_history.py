"""The job: its options, its events, and what it refuses."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import date

import pytest

from fanin.report import page
from pipeline.history import Days, Sources
from pipeline.jobs import history

BATCH = "0199a000-0000-7000-8000-000000000000"


@pytest.fixture
def asked(monkeypatch):
    """What the job asks for, in place of doing it."""
    found = []
    monkeypatch.setattr(history, "spark_session", lambda name, cores: nullcontext(cores))
    monkeypatch.setattr(
        history, "build", lambda spark, sources, out, emit: found.append((spark, sources, out))
    )
    return found


def test_the_options_become_what_the_history_is_made_from(asked):
    where = ["--archive", "s3://b/changes", "--out", "o", "--cores", "2"]
    more = ["--ack-log", "acks.jsonl", "--manifest", f"{BATCH}=s3://b/m"]
    history.main([*where, *more, "--since", "2026-01-30", "--until", "2026-02-01"])

    days = Days(date(2026, 1, 30), date(2026, 2, 1))
    assert asked == [("2", Sources("s3://b/changes", days, "acks.jsonl", {BATCH: "s3://b/m"}), "o")]


@pytest.fixture
def here(spark, monkeypatch):
    monkeypatch.setattr(history, "spark_session", lambda name, cores: nullcontext(spark))


def test_a_line_that_is_none_stops_the_job_and_is_named(here, tmp_path):
    folder = tmp_path / "changes" / "table=pages"
    folder.mkdir(parents=True)
    (folder / "x.jsonl").write_text('{"eventID":"a"}\n')

    with pytest.raises(SystemExit, match=r"^history: .*x\.jsonl, line 1 is not a change of pages: it lacks"):
        history.main(["--archive", str(tmp_path / "changes"), "--out", str(tmp_path / "out")])


def test_an_archive_of_nothing_is_a_report_of_nothing(here, tmp_path, capsys):
    (tmp_path / "changes").mkdir()
    history.main(["--archive", str(tmp_path / "changes"), "--out", str(tmp_path / "out"), "--json"])
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    tables = {event["name"]: event["rows"] for event in events if event["event"] == "table"}

    assert tables.pop("archive") == 1
    assert set(tables.values()) == {0}
    assert {"batches", "items", "throughput", "bundles", "jobs"} <= tables.keys()
    assert (events[-1]["event"], events[-1]["batches"], events[-1]["items"]) == ("saved", 0, 0)
    assert "Nothing happened" in page(str(tmp_path / "out"))
