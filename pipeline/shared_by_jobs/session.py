"""Creates the Spark session of a job: the cluster's if there is one, else a local one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from pipeline.shared_by_jobs.arguments import cores_of
from pipeline.shared_by_jobs.check import REMOTE, has_cluster, is_served, require_java
from pipeline.shared_by_jobs.errors import TASK_ATTEMPTS

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "build/fanin-pipeline.zip"
"""The code of the jobs, as `make pipeline-zip` writes it, for a server of Spark Connect."""
FAILURES = (PySparkException, Py4JJavaError)
"""What Spark raises: its own errors, and Java exceptions that it does not translate."""
_TRACES = "DataFrameQueryContextLogger"
"""The logger by which PySpark prints the whole stack trace of the JVM beside the exception."""

CLASS_ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
"""Classes of Spark as the JVM has them in memory; `pipeline.class_archive` writes them. A JVM that is not the
one that wrote them, or that has other jars, loads its classes from the jars."""
SERIAL_CORES = 4
"""The most cores for which one thread collects garbage."""
SHORT_RUN = (
    # The compiler for hot code starts at several times the calls of Java's defaults: the queries of a small
    # job end before its code would pay, and those of a large one get there within a second.
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=5000",
    "-XX:Tier4CompileThreshold=40000",
    "-XX:Tier4BackEdgeThreshold=400000",
    # What the JVM reports must not be among the events of a job. An archive that it cannot use is no error.
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
)

COMMON = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    # Every reader of Parquet knows this type; Spark's default, INT96, is deprecated.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Else a frame that is kept has as many tasks as a shuffle has partitions, however few rows are in them.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
}


@contextmanager
def spark_session(
    name: str, *, cores: str = "*", settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Yield a session for the job *name*, and stop it, unless there was one before, as in a notebook.

    *cores* and *settings* apply only if no cluster runs the job.
    """
    is_own = SparkSession.getActiveSession() is None
    session = started_session(name, cores, settings or {})
    try:
        yield session
    finally:
        if is_own:
            session.stop()


def started_session(name: str, cores: str, settings: Mapping[str, str]) -> SparkSession:
    """Return the session that `spark_session` yields; the caller stops it."""
    PySparkLogger.getLogger(_TRACES).disabled = True
    builder = SparkSession.builder.appName(name)
    for key, value in {**COMMON, **_settings(cores, settings)}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if is_served() and ARCHIVE.exists():
        session.addArtifacts(str(ARCHIVE), pyfile=True)
    return session


def _settings(cores: str, settings: Mapping[str, str]) -> dict[str, str]:
    # spark-submit has started the JVM and chosen the master: keep both.
    if has_cluster():
        return {}
    require_java()
    # Workers would otherwise be started with whatever python3 comes first on the path.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return {**_on_this_machine(cores), **settings}


def _on_this_machine(cores: str) -> dict[str, str]:
    return {
        # Without the second number, a local task that fails once fails the job. A Spark Connect server that
        # is started in this process takes its master from the variable.
        **({} if REMOTE in os.environ else {"spark.master": f"local[{cores},{TASK_ATTEMPTS}]"}),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(java_options(CLASS_ARCHIVE, cores)),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared"))),
        "spark.python.daemon.module": "pipeline.worker_daemon",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def java_options(archive: Path, cores: str) -> list[str]:
    """Return the options of the JVM of a job with *cores*, which takes classes of *archive*, if it exists."""
    log = Path(__file__).with_name("log4j2.properties").as_uri()
    options = [f"-Dlog4j2.configurationFile={log}", *SHORT_RUN]
    if cores_of(cores) <= SERIAL_CORES:
        options.append("-XX:+UseSerialGC")
    if archive.is_file():
        options.append(f'"-XX:SharedArchiveFile={archive}"')
    return options
