"""Writes the archive of Spark's classes, with which a job starts in half of the CPU.

    python -m pipeline.class_archive

Once for each environment of Python, and again after an upgrade of Java or Spark. The archive has 170 MB; to
write it takes a minute of CPU.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.shared_by_jobs.session import CLASS_ARCHIVE, java_options, spark_session

CORES = "2"


class NotWritten(RuntimeError):
    """Java ended before it had written the archive."""


def write_archive(path: Path) -> None:
    """Write the archive to *path*, in place of an earlier one, by a session of its own."""
    with TemporaryDirectory(dir=path.parent) as folder:
        written = Path(folder) / path.name
        options = [*java_options(Path(), CORES), f'"-XX:ArchiveClassesAtExit={written}"']
        settings = {"spark.driver.extraJavaOptions": " ".join(options)}
        with spark_session("class_archive", cores=CORES, settings=settings) as spark:
            _load_classes(spark, Path(folder))
        _end_java()
        # Only a whole archive gets the name: Java 17 crashes on a part of one.
        os.replace(written, path)


def _load_classes(spark: SparkSession, folder: Path) -> None:
    """Read, cache, shuffle and write rows in the ways of the jobs."""
    rows = spark.range(0, 1000, 1, 2).withColumn("name", F.col("id").cast("string"))
    rows.write.parquet(str(folder / "rows"))
    rows.write.json(str(folder / "lines"))
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(str(folder / "rows"))
    files.select("path", "length").collect()
    spark.read.json(str(folder / "lines")).count()
    read = spark.read.parquet(str(folder / "rows")).mapInArrow(_same, "id long, name string").persist()
    grouped = read.repartition(2, "name").sortWithinPartitions("id").groupBy(F.col("id") % 7)
    grouped.agg(F.bitmap_construct_agg(F.col("id") % 8), F.approx_count_distinct("name")).collect()
    read.join(F.broadcast(read.groupBy("id").count()), "id").unpersist()


def _same(rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    return rows


def _end_java() -> None:
    """End the JVM of this process, and wait until it has written the archive. Raises NotWritten."""
    java = SparkContext._gateway.proc  # type: ignore[union-attr] # PySpark has no other name for it
    java.stdin.close()
    if java.wait():
        raise NotWritten(f"Java ended with status {java.returncode}, and wrote no archive")


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    write_archive(CLASS_ARCHIVE)
    print(f"written: {CLASS_ARCHIVE}")


if __name__ == "__main__":
    main()
