from __future__ import annotations

import gzip

import pytest

from pipeline.spark import datasets, schemas


def test_the_bundled_catalog_has_the_schema_it_is_known_for(spark):
    rows = datasets.read_dataset(spark, str(datasets.CATALOG_SLICE))

    assert (rows.schema, rows.count()) == (schemas.CATALOG, 992)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "name,size\na,1\nb,2\n"),
        ("rows.jsonl.gz", '{"name":"a","size":1}\n{"name":"b","size":2}\n'),
    ],
)
def test_another_dataset_is_read_by_its_suffix(spark, tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())

    rows = datasets.read_dataset(spark, str(path)).select("name", "size").collect()

    assert [tuple(row) for row in rows] == [("a", 1), ("b", 2)]


def test_a_limit_takes_the_first_rows(spark):
    rows = datasets.read_dataset(spark, str(datasets.CATALOG_SLICE), 3).collect()

    assert rows[0].name == "0ad"
    assert len(rows) == 3


def test_a_malformed_row_stops_the_job(spark, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"name":"a"}\n{"name":\n')

    with pytest.raises(Exception, match=r"rows\.jsonl: Malformed records"):
        datasets.read_dataset(spark, str(path)).collect()


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.csv.zip", "rows.jsonl.bak", "rows.jsonl.lz4", "rows"])
def test_an_unknown_suffix_names_those_that_are_known(name):
    with pytest.raises(ValueError, match=r"\.parquet"):
        datasets.format_of(name)


def test_the_last_suffix_names_the_format():
    assert datasets.format_of("rows.csv.parquet/") == ("parquet", {})
    assert datasets.format_of("day.json/rows.csv.gz")[0] == "csv"


def test_lines_and_quotes_within_the_quotes_of_a_csv_are_a_part_of_its_values(spark, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('id,text\n1,"a\n2,b"\n3,"he said ""yes"", then"\n')

    rows = datasets.read_dataset(spark, str(path)).collect()

    assert [tuple(row) for row in rows] == [(1, "a\n2,b"), (3, 'he said "yes", then')]


def test_a_table_of_the_catalog_is_a_dataset(spark):
    spark.range(5).createOrReplaceTempView("five")

    assert datasets.read_dataset(spark, "table:five", 3).count() == 3
