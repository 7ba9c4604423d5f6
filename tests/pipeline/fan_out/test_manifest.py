from __future__ import annotations

import shutil

import pytest
from pyspark.sql import functions as F

from pipeline.fan_out import manifest
from tests.pipeline.conftest import restless

ROWS = 1000
PARTS = 4


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "manifest")


def dataset(spark):
    return spark.range(0, ROWS, 1, PARTS)


def placed(committed: manifest.Manifest) -> dict[int, int]:
    """The row at each position."""
    rows = manifest.positions(committed, manifest.measure(committed.rows)).collect()
    assert len({row.position for row in rows}) == len(rows)
    return {row.position: row.record.id for row in rows}


def ensure(spark, path: str, frame, run: str = "run-1", source: str = "a dataset") -> manifest.Manifest:
    return manifest.ensure(spark, path, lambda: frame, run=run, source=source)


def test_positions_are_dense_and_every_row_has_one(spark, path):
    found = placed(ensure(spark, path, dataset(spark)))

    assert sorted(found) == list(range(ROWS))
    assert sorted(found.values()) == list(range(ROWS))


def test_a_task_that_dies_half_way_leaves_no_trace_in_the_positions(spark, path):
    unstable = dataset(spark).mapInArrow(restless, "id long")

    found = placed(ensure(spark, path, unstable))

    assert sorted(found) == list(range(ROWS))
    assert sorted(found.values()) == list(range(ROWS))


def test_a_row_keeps_its_position_though_its_source_never_gives_the_same_order_twice(spark, path):
    committed = ensure(spark, path, dataset(spark).mapInArrow(restless, "id long"))

    assert placed(committed) == placed(committed)


def test_a_committed_manifest_is_used_again_and_nothing_is_read(spark, path):
    first = placed(ensure(spark, path, dataset(spark)))

    def refuse():
        raise AssertionError("the dataset was read again")

    again = manifest.ensure(spark, path, refuse, run="run-2", source="a dataset")

    assert (again.run, placed(again)) == ("run-1", first)


def test_what_a_dead_write_left_behind_is_written_anew(spark, path, tmp_path):
    ensure(spark, path, spark.range(7))
    (tmp_path / "manifest" / "_SUCCESS").unlink()

    found = ensure(spark, path, dataset(spark), run="run-2")

    assert (found.run, len(placed(found))) == ("run-2", ROWS)


@pytest.mark.parametrize("measure", [manifest.measure, manifest.count])
def test_a_file_that_is_there_twice_gives_no_two_rows_one_position(spark, path, tmp_path, measure):
    committed = ensure(spark, path, dataset(spark))
    first, *_ = (tmp_path / "manifest").glob("part-*")
    shutil.copy(first, first.with_name("part-again.parquet"))
    loaded, _ = manifest.load(spark, path)

    assert measure(committed.rows)
    with pytest.raises(manifest.Damaged, match="has 500 rows, numbered from 0 to 249"):
        measure(loaded.rows)


def test_a_manifest_does_not_serve_another_dataset(spark, path):
    ensure(spark, path, dataset(spark))

    with pytest.raises(manifest.AnotherSource, match="another dataset"):
        ensure(spark, path, dataset(spark), source="another dataset")


def test_an_empty_dataset_has_a_manifest_and_a_run(spark, path):
    empty = ensure(spark, path, dataset(spark).where("id < 0"))

    assert (empty.run, manifest.measure(empty.rows)) == ("run-1", [])


def test_parts_without_rows_take_no_positions(spark, path):
    gaps = dataset(spark).where(F.col("id") >= ROWS // 2)

    found = placed(ensure(spark, path, gaps))

    assert sorted(found) == list(range(ROWS // 2))
