from __future__ import annotations

import subprocess
import sys

import pytest
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


def test_java_takes_an_archive_that_is_there_and_one_thread_for_the_garbage_of_few_cores(tmp_path):
    archive = tmp_path / "of classes.jsa"
    before = session.java_options(archive, "64")
    archive.touch()
    after = session.java_options(archive, "2")

    assert set(after) - set(before) == {"-XX:+UseSerialGC", f'"-XX:SharedArchiveFile={archive}"'}
    assert set(before) < set(after)


@pytest.mark.proof
def test_a_session_takes_its_classes_from_the_archive(tmp_path):
    archive, log = tmp_path / "classes.jsa", tmp_path / "classes.log"
    write = f"from pipeline.class_archive import *; write_archive(Path({str(archive)!r}))"
    loaded = f"-Xlog:class+load:file={log}"
    start = (
        "from pipeline.shared_by_jobs.session import *;"
        f"options = [*java_options(Path({str(archive)!r}), '2'), {loaded!r}];"
        "spark_session('a', settings={'spark.driver.extraJavaOptions': ' '.join(options)}).range(9).count()"
    )
    for program in (write, start):
        subprocess.run([sys.executable, "-c", program], cwd=session.ROOT, check=True)

    lines = log.read_text().splitlines()
    assert sum("shared objects file" in line for line in lines) > len(lines) * 0.8
