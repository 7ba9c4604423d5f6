"""Ends a job that fails with a one-sentence message instead of a stack trace.

The stack traces of Spark and its executors are in their logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from fanin.errors import FaninError

FAILURES = (PySparkException, Py4JJavaError)
"""What Spark raises: its own errors, and Java exceptions that it does not translate."""
_SPARKS_OWN = "DataFrameQueryContextLogger"
_TRACE = "Traceback (most recent call last):"
_FRAME = re.compile(r"^(?:\s|$)|^During handling|^The above exception")
_CLASS = re.compile(r"^[A-Za-z_]\w*(?:\.\w+)+: ")
"""The class of an exception, before its message."""
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] (.*?)[\s;]*(?:SQLSTATE: \w+;?)?\s*$", re.MULTILINE)
"""The message of a Spark error; the first match is the outermost error."""
MESSAGES_MAX = 2
"""Error messages of Spark that are repeated in the sentence."""


@contextmanager
def exit_with_message(job: str) -> Iterator[None]:
    """Exit with a message that begins with the name of *job* if the body fails on input, AWS or Spark."""
    # PySpark would print the whole stack trace of the JVM too.
    PySparkLogger.getLogger(_SPARKS_OWN).disabled = True
    try:
        yield
    except (FaninError, ValueError, BotoCoreError, ClientError) as error:
        raise SystemExit(f"{job}: {error}") from error
    except FAILURES as error:
        raise SystemExit(f"{job}: {sentence(str(error))}") from error


def sentence(text: str) -> str:
    """Return the cause in the *text* of a Spark exception: the executor's message, else Spark's own."""
    _, trace, below = text.rpartition(_TRACE)
    if trace:
        return _CLASS.sub("", _raised(below))
    found_messages = list(dict.fromkeys(found[1] for found in _CONDITION.finditer(text)))
    return " ".join(found_messages[:MESSAGES_MAX]) or _thrown(text.strip().splitlines())


def _thrown(lines: list[str]) -> str:
    """Return the message of the JVM's exception; Py4J puts the failed call before it."""
    thrown = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
    return _CLASS.sub("", thrown)


def _raised(below: str) -> str:
    """Return the line with the exception: the first one below the frames of a traceback."""
    lines = below.strip("\n").splitlines()
    return next((line for line in lines if not _FRAME.match(line)), lines[-1]).strip()
