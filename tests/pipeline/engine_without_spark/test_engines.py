"""Which engine a job gets, and that both find the same files."""

from __future__ import annotations

import pytest

from pipeline.bulk_ack.local import LocalEngine
from pipeline.engine_without_spark.engines import AUTO, LOCAL, LOCAL_BYTES, SPARK, choose
from pipeline.engine_without_spark.listing import NotListed, listed
from pipeline.shared_by_jobs.files import ListedFile
from tests.pipeline.logs import write_log


def refused():
    raise NotListed("hdfs: is not known")


@pytest.mark.parametrize(
    ("asked", "size", "cluster", "engine"),
    [
        (AUTO, LOCAL_BYTES, False, LOCAL),
        (AUTO, LOCAL_BYTES + 1, False, SPARK),
        (AUTO, 1, True, SPARK),
        (AUTO, None, False, SPARK),
        (LOCAL, LOCAL_BYTES + 1, True, LOCAL),
        (SPARK, 1, False, SPARK),
    ],
)
def test_small_input_is_local_unless_a_cluster_runs_the_job(monkeypatch, asked, size, cluster, engine):
    if cluster:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")

    chosen = choose(asked, refused if size is None else lambda: [ListedFile("x", size)])

    assert chosen["engine"] == engine


def test_both_engines_list_the_same_files(spark, tmp_path):
    from pipeline.bulk_ack.on_spark import SparkEngine

    names = ("a.csv", "day=1/b c%20.csv", "day=1/.hidden.csv", "_day/c.csv", "_day=2/d.csv", "e/.f/g.csv")
    for name in (*names, "x/1.csv", "x/2.csv", "y/_3.csv", "y/4.json"):
        write_log(tmp_path / name, ["junk"])
    asked = [
        f"{tmp_path}/[^x-z]*",
        f"{tmp_path}/x/{{1,3}}.csv",
        f"file://{tmp_path}/?/*.csv",
        f"{tmp_path}/_day",
    ]

    local, by_spark = LocalEngine(1), SparkEngine(spark)
    for paths in ([str(tmp_path)], *([path] for path in asked), asked):
        assert local.list_logs(paths) == by_spark.list_logs(paths) == by_spark.list_by_query(paths)


def test_a_path_without_a_file_is_named(tmp_path):
    with pytest.raises(NotListed, match=r"path does not exist: file:/.*/none"):
        listed([f"{tmp_path}/none"])
