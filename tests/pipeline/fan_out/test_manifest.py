"""The manifest: each row at a position that stays, committed once, read in parts."""

from __future__ import annotations

import json
import shutil
from functools import reduce
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pipeline.fan_out import manifest, parts
from pipeline.fan_out.on_spark import SparkEngine
from pipeline.fan_out.publish import FanOutRequest
from tests.pipeline.conftest import restless

ROWS = 1000
PARTS = 4


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "manifest")


def dataset(spark):
    return spark.range(0, ROWS, 1, PARTS)


@pytest.fixture(scope="module")
def whole(spark, tmp_path_factory) -> Path:
    """The manifest of the dataset, which no test changes."""
    path = tmp_path_factory.mktemp("whole") / "manifest"
    ensure(spark, str(path), dataset(spark))
    return path


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "manifest")


def placed(committed: manifest.Manifest) -> dict[int, int]:
    """The row at each position."""
    rows = manifest.positions(committed, manifest.measure(committed.rows)).collect()
    assert len({row.position for row in rows}) == len(rows)
    return {row.position: json.loads(row.record)["id"] for row in rows}


def ensure(spark, path: str, frame, run: str = "run-1") -> manifest.Manifest:
    """The manifest of a run over *frame*, which is read only if *path* has none."""

    class Engine(SparkEngine):
        def _read(self, request):
            return frame() if callable(frame) else frame

    Engine(spark).number(FanOutRequest("a dataset", path, None, "k"), run)
    return manifest.load(spark, path)


def test_positions_are_dense_and_every_row_keeps_its_own_though_its_source_gives_another_order_each_time(
    spark, path
):
    """A task that dies half-way leaves no trace in them."""
    committed = ensure(spark, path, dataset(spark).mapInArrow(restless, "id long"))
    found = placed(committed)

    assert sorted(found) == sorted(found.values()) == list(range(ROWS))
    assert placed(committed) == found


def test_a_committed_manifest_is_used_again_and_nothing_is_read(spark, whole):
    def refuse():
        raise AssertionError("the dataset was read again")

    again = ensure(spark, str(whole), refuse, run="run-2")

    assert (again.label.run, again.rows.count()) == ("run-1", ROWS)


def test_what_a_dead_write_left_behind_is_written_anew(spark, copy):
    (copy / "_SUCCESS").unlink()

    found = ensure(spark, str(copy), spark.range(7), run="run-2")

    assert (found.label.run, len(placed(found))) == ("run-2", 7)


def test_a_file_that_is_there_twice_gives_no_two_rows_one_position(spark, copy):
    first, *_ = copy.glob("part-*")
    shutil.copy(first, first.with_name("part-again.parquet"))
    loaded = manifest.load(spark, str(copy))

    for measured in (lambda: manifest.measure(loaded.rows), lambda: manifest.count(loaded)):
        with pytest.raises(parts.Damaged, match="has 500 rows, numbered from 0 to 249"):
            measured()


PART_ROWS = ROWS // PARTS
PICKED = {
    "the ends of a part": [(PART_ROWS, PART_ROWS), (2 * PART_ROWS - 1, 2 * PART_ROWS - 1)],
    "over a whole part": [(PART_ROWS - 1, 2 * PART_ROWS)],
    "many": [(first, first + 2) for first in range(0, ROWS, 16)],
    "none": [],
}


@pytest.fixture(scope="module")
def picked(spark, whole) -> list[Row]:
    """The rows of all that is picked, by one job."""
    whole = manifest.load(spark, str(whole))
    counted = manifest.count(whole)
    kept = {name: manifest.between(whole, counted, ranges) for name, ranges in PICKED.items()}
    frames = [
        manifest.positions(rows, counted).withColumn("pick", F.lit(name)) for name, rows in kept.items()
    ]
    return reduce(DataFrame.union, frames).collect()


@pytest.mark.parametrize("name", PICKED)
def test_exactly_the_rows_of_the_ranges_are_kept_at_their_positions(picked, name):
    rows = [row for row in picked if row.pick == name]

    wanted = [position for first, last in PICKED[name] for position in range(first, last + 1)]
    assert sorted((row.position, json.loads(row.record)["id"]) for row in rows) == [
        (each, each) for each in wanted
    ]


def test_ranges_lie_where_the_rows_do_though_parts_before_them_are_empty(spark, path):
    committed = ensure(spark, path, dataset(spark).where(f"id >= {PART_ROWS} AND id % 3 = 0"))
    counted = manifest.count(committed)

    rows = manifest.positions(manifest.between(committed, counted, [(1, 2), (90, 91)]), counted).collect()

    assert [part.number for part in counted] == [1, 2, 3]
    assert {row.position: json.loads(row.record)["id"] for row in rows} == {1: 255, 2: 258, 90: 522, 91: 525}


@pytest.mark.parametrize("change", ["without statistics", "in one file"])
def test_a_manifest_that_another_writer_wrote_again_is_counted_by_its_rows(spark, copy, change):
    table, files = pq.read_table(copy), list(copy.glob("part-*"))
    for file in copy.glob("*part-*"):
        file.unlink()
    pq.write_table(table, files[0], write_statistics=change == "in one file")
    loaded = manifest.load(spark, str(copy))

    assert manifest.count(loaded) == [parts.Part(number, PART_ROWS) for number in range(PARTS)]
