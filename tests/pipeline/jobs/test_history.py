"""The job: its options, its events, and what it refuses."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date

import pytest

from pipeline.history_tables import Days, Sources
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


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--manifest", "a=s3://b/m"], "'a=s3://b/m' is not BATCH=PATH: a batch id is a UUID"),
        (["--manifest", "s3://b/m"], "'s3://b/m' is not BATCH=PATH"),
        (["--since", "2026-13-01"], "argument --since: invalid"),
        (["--until", "now"], "argument --until: invalid"),
    ],
)
def test_an_option_of_another_form_is_refused(asked, option, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        history.main(["--archive", "a", "--out", "o", *option])

    assert message in capsys.readouterr().err
    assert asked == []
