from __future__ import annotations

import sys

from pyspark.sql import functions as F

from pipeline.shared_by_jobs import session


def test_workers_run_this_python_and_find_the_project(spark):
    def look(batches):
        import fanin.tracker  # noqa: F401
        import pipeline.fan_out.send  # noqa: F401

        for batch in batches:
            batch["python"] = sys.executable
            yield batch[["python"]]

    (row,) = spark.range(1).mapInPandas(look, "python string").collect()

    assert row.python == sys.executable


def test_the_session_listens_on_loopback_alone_and_shows_no_page(spark):
    conf = spark.sparkContext.getConf()

    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_times_are_utc(spark):
    (row,) = spark.range(1).select(F.current_timezone().alias("zone")).collect()

    assert row.zone == "UTC"


def test_a_cluster_keeps_its_own_master_and_addresses(monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "12345")

    assert session._settings("*", {}) == {}
