"""The process of a function that ``fanin local work`` feeds: imports its handler and invokes it.

It is run by its path under the Python of the user's app, so it imports the standard library alone. Requests
and answers have file descriptors of their own, a JSON document a line, so that standard input and output are
those of the terminal.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import sys
import time
import traceback
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

LIBRARIES = ("site-packages", "dist-packages")
FOLDER = os.getcwd()
"""The folder of the app; a handler may work in another one, and remove that."""
SKIPPED = (__file__, importlib.__file__, "<frozen importlib")


class Context:
    """The context of an invocation: its name and id, and the time that is left."""

    function_version = "$LATEST"
    memory_limit_in_mb = "128"

    def __init__(self, name: str, seconds: float) -> None:
        self.function_name = name
        self.invoked_function_arn = f"arn:aws:lambda:us-east-1:000000000000:function:{name}"
        self.aws_request_id = str(uuid.uuid4())
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int(1000 * (self._until - time.monotonic())))


def main(spec: str, read_from: int, write_to: int) -> None:
    """Import the handler of *spec*, ``module:name``, and invoke it until the requests end."""
    # botocore then sends the trace header of an invocation with each request.
    os.environ["AWS_LAMBDA_FUNCTION_NAME"] = spec.partition(":")[2]
    # Ctrl-C reaches the whole process group; the parent lets a delivery finish.
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.path[0] = FOLDER
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    with open(read_from, encoding="utf-8") as requests, open(write_to, "w", encoding="utf-8") as answers:
        handler = _imported(spec, answers)
        for line in requests:
            _answer(answers, _invoked(handler, spec.partition(":")[2], json.loads(line)))


def _imported(spec: str, answers: TextIO) -> Any:
    """Return the handler, and answer whether there is one."""
    module, _, name = spec.partition(":")
    try:
        handler = _function(getattr(importlib.import_module(module), name), spec)
    except (Exception, SystemExit) as error:
        _show(error)
        _answer(answers, {"error": _line_of(error)}, _named_by(error))
        return None
    _answer(answers, {"error": ""})
    return handler


def _function(found: Any, spec: str) -> Any:
    """Return what was *found* as the handler. Raises TypeError if it cannot be called."""
    if not callable(found):
        raise TypeError(f"{spec} is a {type(found).__name__}, and no function")
    return found


def _invoked(handler: Any, name: str, request: Any) -> dict[str, Any]:
    """Return the answer of one invocation; what the handler raises is shown on standard error."""
    os.environ["_X_AMZN_TRACE_ID"] = request["trace"]
    try:
        answer = handler(request["event"], Context(name, request["seconds"]))
        return {"error": "", "answer": json.loads(json.dumps(answer))}
    except (Exception, SystemExit) as error:
        _show(error)
        return {"error": _line_of(error)}


def _answer(answers: TextIO, document: dict[str, Any], more: Iterable[str | None] = ()) -> None:
    """Write a document, with the files of the app that are loaded by now."""
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    files = sorted(file for file in loaded | set(more) if file and _is_of_app(file))
    answers.write(json.dumps({**document, "files": files}) + "\n")
    answers.flush()


def _is_of_app(file: str) -> bool:
    return file.startswith(FOLDER + os.sep) and not any(each in file for each in LIBRARIES)


def _named_by(error: BaseException) -> Iterator[str | None]:
    """Yield the files in which an import failed."""
    yield from (frame.filename for frame in traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError):
        yield error.filename


def _line_of(error: BaseException) -> str:
    """Return the type and the text of *error*, as the last line of its traceback has them."""
    return traceback.format_exception_only(type(error), error)[-1].strip()


def _show(error: BaseException) -> None:
    """Print the traceback of *error* from the first line of the app on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(SKIPPED):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
    sys.stderr.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
