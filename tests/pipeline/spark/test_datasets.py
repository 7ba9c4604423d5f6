"""A dataset is read by the suffix of its name, with its first rows, or not at all."""

from __future__ import annotations

import gzip

import pytest

from pipeline.spark import datasets, schemas


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


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.csv.zip", "rows.jsonl.bak", "rows.jsonl.lz4", "rows"])
def test_an_unknown_suffix_names_those_that_are_known(name):
    with pytest.raises(ValueError, match=r"\.parquet"):
        datasets.format_of(name)


def test_the_last_suffix_names_the_format():
    assert datasets.format_of("rows.csv.parquet/") == ("parquet", {})
    assert datasets.format_of("day.json/rows.csv.gz")[0] == "csv"


def test_a_table_of_the_catalog_is_a_dataset(spark):
    spark.range(5).createOrReplaceTempView("five")

    assert datasets.read_dataset(spark, "table:five", 3).count() == 3
