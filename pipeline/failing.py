"""How a job ends that cannot go on: with one sentence that says why, and no stack trace.

What Spark and its executors told of it stands in their logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from fanin import FaninError

FAILURES = (PySparkException, Py4JJavaError)
"""What Spark raises, its own errors and those that it does not translate."""
_SPARKS_OWN = "DataFrameQueryContextLogger"
_TRACE = "Traceback (most recent call last):"
_PLACE = re.compile(r"^(?:\s|$)|^During handling|^The above exception")
_CLASS = re.compile(r"^[A-Za-z_]\w*(?:\.\w+)+: ")
"""The class of an exception, before what it says."""
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] (.*?)[\s;]*(?:SQLSTATE: \w+;?)?\s*$", re.MULTILINE)
"""What Spark says went wrong; the first of them is the outermost."""
MOST_SAID = 2


@contextmanager
def plainly(job: str) -> Iterator[None]:
    """Leave with one sentence, named for the *job*, where the body fails as input, AWS or Spark make it."""
    # PySpark would print the whole trace of the JVM beside it.
    PySparkLogger.getLogger(_SPARKS_OWN).disabled = True
    try:
        yield
    except (FaninError, ValueError, BotoCoreError, ClientError) as error:
        raise SystemExit(f"{job}: {error}") from error
    except FAILURES as error:
        raise SystemExit(f"{job}: {sentence(str(error))}") from error


def sentence(text: str) -> str:
    """What the *text* of Spark's exception says in the end: an executor's own words, else Spark's."""
    _, trace, below = text.rpartition(_TRACE)
    if trace:
        return _CLASS.sub("", _raised(below))
    said = list(dict.fromkeys(found[1] for found in _CONDITION.finditer(text)))
    return " ".join(said[:MOST_SAID]) or _thrown(text.strip().splitlines())


def _thrown(lines: list[str]) -> str:
    """What the JVM threw; Py4J puts the call before it that brought it about."""
    thrown = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
    return _CLASS.sub("", thrown)


def _raised(below: str) -> str:
    """The line with the exception itself: the first below the places of a traceback."""
    lines = below.strip("\n").splitlines()
    return next((line for line in lines if not _PLACE.match(line)), lines[-1]).strip()
