"""What a run is checked against: the dataset, the events, the counters; and what differs."""

from __future__ import annotations

import bz2
import gzip
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from examples.catalog.checks import expectation
from examples.catalog.checks.completions import Book
from examples.catalog.checks.expectation import Expectation
from examples.catalog.checks.verdict import Result, differences
from fanin.tracker import State
from tests.catalog.makers import BATCH, NOON, detail, status

PACKAGES = [("a", "1"), ("a", "2"), ("b", "1"), ("a", "1")]
TEXT = "".join(json.dumps({"name": name, "version": version}) + "\n" for name, version in PACKAGES)


@pytest.mark.parametrize(
    ("name", "pack"), [("x.jsonl", bytes), ("x.jsonl.bz2", bz2.compress), ("x.ndjson.gz", gzip.compress)]
)
def test_keys_are_distinct_packages_and_items_are_lines(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack(TEXT.encode()))

    assert expectation.problem_of(path) is None
    assert expectation.read(path) == expectation.Expectation(4, frozenset({"a_1", "a_2", "b_1"}))


def test_packages_of_the_named_sections_are_bundled_as_often_as_they_come(tmp_path):
    path = tmp_path / "x.jsonl"
    sections = ["games", "perl", None, "games"]
    records = [{"name": n, "version": v, "section": s} for (n, v), s in zip(PACKAGES, sections, strict=True)]
    path.write_text("\n".join(map(json.dumps, records)))

    assert expectation.read(path, bundled={"games", "sound"}).bundled == {"a_1": 2}
    assert expectation.read(path, 3, {"games"}).bundled == {"a_1": 1}
    assert expectation.read(path).bundled == expectation.read(path).queued == {}
    both = expectation.read(path, bundled={"games"}, queued={"perl"})
    assert (both.bundled, both.queued) == ({"a_1": 2}, {"a_2": 1})


@pytest.mark.parametrize("line", ["no json", "{}", '{"name": "a"}', "[1]"])
def test_a_line_that_is_no_package_is_named(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_text(TEXT + line)

    with pytest.raises(ValueError, match=r"line 5 .*a name and a version"):
        expectation.read(path)


def test_a_dataset_that_is_not_there_or_of_another_kind_is_a_problem(tmp_path):
    other = tmp_path / "x.parquet"
    other.touch()

    assert "no such file" in expectation.problem_of(Path("nowhere.jsonl"))
    assert ".jsonl" in expectation.problem_of(other)


def noted(*events) -> Book:
    """A book of events: the facts of each, and its delay in seconds."""
    book = Book()
    for delay, facts in events:
        book.note(json.dumps({"source": "fanin", "detail": detail(**facts)}), NOON + timedelta(seconds=delay))
    return book


def test_the_same_event_again_is_a_redelivery_and_is_as_late_as_it_came_first():
    book = noted((1, {}), (2, {}), (3, {}))

    assert [arrival.delay for arrival in book.of(BATCH)] == [0.75]
    assert book.redeliveries(BATCH) == 2


def test_another_event_of_the_batch_is_a_second_event_and_those_of_other_batches_are_none():
    book = noted((0, {}), (0, {"eventId": "another"}), (0, {"batchId": "other", "eventId": "other:COMPLETE"}))

    assert (len(book.of(BATCH)), book.redeliveries(BATCH)) == (2, 0)


EXPECTED = Expectation(3, frozenset({"a_1", "b_1", "c_1"}), {"a_1": 1, "b_1": 1}, {"c_1": 1})
GOOD = Result(
    status(), ["a_1", "b_1", "c_1"], [detail()], dead_letter_messages=0, called={"a_1": 1, "b_1": 1}, jobs=1
)


def test_a_run_as_promised_has_no_differences():
    assert differences(EXPECTED, GOOD) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"status": status(state=State.CLOSED)}, "the batch's state is CLOSED, not COMPLETE"),
        (
            {"status": status(result="completed_with_failures")},
            "the batch's result is completed_with_failures",
        ),
        ({"status": status(total=4)}, "the batch's total is 4, not 3"),
        ({"status": status(acked=2)}, "the batch's acked is 2, not 3"),
        ({"details": []}, "0 distinct completion events came, not one"),
        ({"details": [detail(), detail(eventId="2")]}, "2 distinct completion events came, not one"),
        ({"details": [detail(total=4)]}, "the event's total is 4, not 3"),
        ({"details": [detail(result=None)]}, "the event's result is None, not succeeded"),
        ({"indexed": ["a_1", "c_1"]}, "1 packages are missing from the index: b_1"),
        ({"indexed": ["a_1", "b_1", "c_1", "d_1"]}, "1 packages are strange to the index: d_1"),
        ({"jobs": 0}, "0 jobs have an outcome, not 1"),
        ({"jobs": 2}, "2 jobs have an outcome, not 1"),
        ({"dead_letter_messages": 2}, "2 dead-letter messages"),
        ({"called": {"a_1": 1}}, "1 packages are in no successful call of the batch API: b_1"),
        (
            {"called": {"a_1": 1, "b_1": 2}},
            "1 packages are in more successful calls of the batch API than one: b_1",
        ),
        (
            {"called": {"a_1": 1, "b_1": 1, "c_1": 1}},
            "1 packages are in more successful calls of the batch API than one: c_1",
        ),
    ],
)
def test_what_differs_is_named_and_nothing_else(change, named):
    found = differences(EXPECTED, replace(GOOD, **change))

    assert [line.startswith(named) for line in found] == [True]
