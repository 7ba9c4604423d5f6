"""What a user reads of a failure: the last message of what failed, in one line."""

from __future__ import annotations

import logging

import pytest
from botocore.exceptions import NoRegionError
from pyspark.logger import PySparkLogger

from fanin import FaninError
from pipeline.shared_by_jobs.errors import exit_with_message, sentence

TRACE = """Traceback (most recent call last):
  File "worker.py", line 9, in main
    process()
    ^^^^^^^^^
"""
STAGE = (
    "An error occurred while calling o9.parquet.\n: org.apache.spark.SparkException: Job aborted\n\tat a.b"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"\n  An exception was thrown.\n{TRACE}pipeline.acklogs.UnreadableLog: x.csv is none\n",
            "x.csv is none",
        ),
        (f"{STAGE}\n{TRACE}pipeline.sinks.SendFailed: refused: no\n\n\tat org.x(Y.java:9)\n", "refused: no"),
        (f"[STREAM_FAILED] ended: {TRACE}KeyError: 'x'\n\n=== Plan ===\n+- Relation [a]", "KeyError: 'x'"),
        (f"{TRACE}ValueError: a\n\nDuring handling of it:\n\n{TRACE}a.B: c\n", "c"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03", "Path does not exist: file:/x."),
        ("[AB] b. SQLSTATE: 42P01;\n'Relation [none]\n\tat x\nCaused by: y: [C.D] e\n\tat z", "b. e"),
        (STAGE, "Job aborted"),
        ("no such thing\n\tat a.b", "no such thing"),
    ],
)
def test_of_a_stack_trace_its_last_message_is_reported(text, expected):
    assert sentence(text) == expected


@pytest.mark.parametrize("error", [FaninError("no"), ValueError("no"), NoRegionError()])
def test_a_mistake_is_reported_with_the_jobs_name(error):
    with pytest.raises(SystemExit, match=f"^job: {error}$"), exit_with_message("job"):
        raise error


def test_spark_prints_no_stack_trace_beside_it(spark):
    reported: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = reported.append
    PySparkLogger.getLogger("DataFrameQueryContextLogger").addHandler(handler)

    with (
        pytest.raises(SystemExit, match=r"^job: A column, .* `nothing` cannot be resolved"),
        exit_with_message("job"),
    ):
        spark.range(1).select("nothing")

    assert reported == []


def test_a_bug_keeps_its_stack_trace():
    with pytest.raises(KeyError), exit_with_message("job"):
        raise KeyError("x")
