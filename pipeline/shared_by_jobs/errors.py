"""Ends a job that fails with a one-sentence message instead of a stack trace.

The stack traces of Spark and its executors are in their logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from fanin.errors import FaninError

_OF_SPARK = ("pyspark", "py4j")
"""The packages of what Spark raises: its own errors, and Java exceptions that it does not translate."""
_TRACE = "Traceback (most recent call last):"
_FRAME = re.compile(r"^(?:\s|$)|^During handling|^The above exception")
_CLASS = re.compile(r"^[A-Za-z_]\w*(?:\.\w+)+: ")
"""The class of an exception, before its message."""
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] (.*?)[\s;]*(?:SQLSTATE: \w+;?)?\s*$", re.MULTILINE)
"""The message of a Spark error; the first match is the outermost error."""
TASK_ATTEMPTS = 4
"""Attempts of a task, before the job fails."""
MESSAGES_MAX = 2
"""Error messages of Spark that are repeated in the sentence."""


class TaskFailed(RuntimeError):
    """A task failed on each of its attempts; the message is that of the last error."""


@contextmanager
def exit_with_message(job: str) -> Iterator[None]:
    """Exit with a message that begins with the name of *job* if the body fails on input, AWS or Spark."""
    try:
        yield
    except (FaninError, ValueError, BotoCoreError, ClientError, TaskFailed) as error:
        raise SystemExit(f"{job}: {error}") from error
    except Exception as error:
        if not _is_of_spark(error):
            raise
        raise SystemExit(f"{job}: {sentence(str(error))}") from error


def _is_of_spark(error: Exception) -> bool:
    """Return whether Spark raised *error*; its packages, slow to import, need not be there."""
    return any(kind.__module__.partition(".")[0] in _OF_SPARK for kind in type(error).__mro__)


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
