"""What is printed: cells without sequences on a terminal and in a pipe, and progress on a terminal alone."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from fanin.cli.terminal.durations import duration, time_of
from fanin.cli.terminal.exits import UsageError
from fanin.cli.terminal.output import Column, Output, Progress

COLUMNS = (
    Column("Key", "key"),
    Column("Items", "total", lambda row: f"{row['total']:,}", right=True),
    Column("Secret", "whole", hidden=True),
)
EVIL = "a\x1b[31mb\tc\nd\x9b2J\u202ee"
ROW = {"key": EVIL, "total": 1_000, "whole": "w" * 90}


class Terminal(io.StringIO):
    """A stream that people read."""

    def isatty(self):
        return True


def printed(stream, print_, **options):
    print_(Output(stream=stream, **options))
    return stream.getvalue()


def test_a_cell_in_a_pipe_is_one_cell_whatever_is_in_it():
    text = printed(io.StringIO(), lambda output: output.table(COLUMNS, [ROW]))

    assert text == f"a\\x1b[31mb\\tc\\nd\\x9b2J\\u202ee\t1000\t{'w' * 90}\n"


def test_a_terminal_gets_a_table_that_no_cell_can_write_to(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "dumb")
    text = printed(Terminal(), lambda output: output.table(COLUMNS, [ROW, {**ROW, "key": "[red]x"}]))

    assert "\x1b[31m" not in text
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert "…" not in text
    assert "www" not in text
    assert "1,000" in text
    assert "[red]x" in text


ID = "39f8a16e-f93e-4306-8573-cbb3b2f36343"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        ("80", ["Key                                   Items", f"{ID}  1,000"]),
        ("40", [ID, "  items 1,000"]),
    ],
)
def test_a_table_wider_than_the_terminal_has_the_first_cell_whole_and_the_others_below(
    monkeypatch, width, lines
):
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("TERM", "xterm" if width == "40" else "dumb")  # a dumb terminal has 80 columns
    text = printed(Terminal(), lambda output: output.table(COLUMNS, [{**ROW, "key": ID}]))

    assert [line.rstrip() for line in text.splitlines()] == lines


def test_progress_elsewhere_than_on_a_terminal_is_a_line_every_ten_seconds():
    now, stream = [0.0], io.StringIO()
    progress = Progress(stream, lambda: now[0])
    for second in range(31):
        now[0] = float(second)
        progress.show(f"sent {second}")
    progress.clear()

    assert stream.getvalue() == "sent 10\nsent 20\nsent 30\n"


def test_a_document_controls_no_terminal_and_is_the_same_document():
    text = printed(Terminal(), lambda output: output.value(ROW, ""), as_json=True)

    assert json.loads(text) == ROW
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("90s", timedelta(seconds=90)),
        ("1d12h", timedelta(hours=36)),
        ("2w", timedelta(days=14)),
        ("0m", timedelta()),
    ],
)
def test_a_duration_has_units(text, time):
    assert duration(text) == time


@pytest.mark.parametrize("text", ["", "6", "6x", "-6h", "1.5h", "6h ", "9" * 10 + "s"])
def test_what_is_no_duration_is_a_sentence(text):
    with pytest.raises(UsageError, match="is not a duration: write 90s"):
        duration(text)


def test_a_time_is_a_duration_ago_or_has_a_zone():
    now = datetime(2026, 1, 2, tzinfo=UTC)

    assert time_of("2d", now) == datetime(2025, 12, 31, tzinfo=UTC)
    assert time_of("2026-03-01T00:00:00+01:00", now) == datetime(2026, 2, 28, 23, tzinfo=UTC)
    for text in ("2026-03-01T00:00:00", "yesterday", "2x", "999999w"):
        with pytest.raises(UsageError, match="is no time: write 2026-03-01T00:00:00Z"):
            time_of(text, now)
