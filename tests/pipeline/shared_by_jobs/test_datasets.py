"""A dataset is read by the suffix of its name, or not at all; files are dealt to tasks of one size."""

from __future__ import annotations

import gzip

import pytest

from pipeline.shared_by_jobs import datasets, files, schemas
from pipeline.shared_by_jobs.files import ListedFile


def test_the_bundled_catalog_has_the_schema_it_is_known_for_and_a_limit_takes_the_first_rows(spark):
    rows = datasets.read_dataset(spark, str(datasets.CATALOG_SLICE))
    some = datasets.read_dataset(spark, str(datasets.CATALOG_SLICE), 3).collect()

    assert (rows.schema, rows.count()) == (schemas.CATALOG, 992)
    assert (some[0].name, len(some)) == ("0ad", 3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", 'name,size\n"a\n2,b",1\n"he said ""yes"", then",2\n'),
        ("rows.jsonl.gz", '{"name":"a\\n2,b","size":1}\n{"name":"he said \\"yes\\", then","size":2}\n'),
    ],
)
def test_another_dataset_is_read_by_its_suffix_with_lines_and_quotes_within_its_values(
    spark, tmp_path, name, text
):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())

    rows = datasets.read_dataset(spark, str(path)).select("name", "size").collect()

    assert [tuple(row) for row in rows] == [("a\n2,b", 1), ('he said "yes", then', 2)]


@pytest.mark.parametrize("limit", [4, 30, 31, 75, 200])
def test_a_large_limit_takes_the_first_rows_in_the_partitions_where_they_are(
    spark, tmp_path, monkeypatch, limit
):
    monkeypatch.setattr(datasets, "LIMIT_OF_A_TASK", 3)
    path = str(tmp_path / "rows.parquet")
    spark.range(0, 100, 1, 4).write.parquet(path)
    everything = [row.id for row in datasets.read_dataset(spark, path).collect()]

    rows = datasets.read_dataset(spark, path, limit)

    assert [row.id for row in rows.collect()] == everything[:limit]
    assert rows.rdd.getNumPartitions() == datasets.read_dataset(spark, path).rdd.getNumPartitions() > 1


def test_the_last_suffix_names_the_format():
    assert datasets.format_of("rows.csv.parquet/") == ("parquet", {})
    assert datasets.format_of("day.json/rows.csv.gz")[0] == "csv"


def test_a_table_of_the_catalog_is_a_dataset(spark):
    spark.range(5).createOrReplaceTempView("five")

    assert datasets.read_dataset(spark, "table:five", 3).count() == 3


@pytest.mark.parametrize(
    ("count", "size", "slots"), [(1, 5, 4), (3, 5, 8), (100, 10, 8), (10, files.BYTES_A_TASK, 2)]
)
def test_logs_are_dealt_whole_and_evenly(count, size, slots):
    logs = [ListedFile(f"{number:03d}", size) for number in range(count)]

    dealt = files.shares(logs, slots)

    assert sorted(path for paths in dealt for path in paths) == [log.path for log in logs]
    assert len(dealt) == min(count, max(slots, count * size // files.BYTES_A_TASK))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
