from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from examples.catalog.checks import expectation

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


def test_a_limit_takes_the_first_lines_and_blank_ones_are_no_items(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n" + TEXT + "  \n\n")

    assert expectation.read(path).items == 4
    assert expectation.read(path, 2) == expectation.Expectation(2, frozenset({"a_1", "a_2"}))


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
