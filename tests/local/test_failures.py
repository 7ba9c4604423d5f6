"""The failures of functions: those of the emulator and of the fed one are lines that other processes show."""

from __future__ import annotations

import io
import zipfile

import pytest

from fanin.local.failures import FailureLog, FailureNotes
from fanin.local.function_processes.failed_invocations import error_of

FUNCTIONS = {
    "import_fails": "import nosuch\ndef handler(event, context): pass\n",
    "raises": "def handler(event, context):\n    raise KeyError('picture')\n",
}


def zipped(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("app.py", text)
    return buffer.getvalue()


@pytest.mark.side_by_side
@pytest.mark.parametrize(
    ("name", "error"),
    [("import_fails", "No module named 'nosuch'"), ("raises", "KeyError: 'picture'")],
)
def test_a_function_that_fails_on_the_run_is_noted_with_its_error(run, name, error):
    lambda_ = run.client("lambda")
    code, role = {"ZipFile": zipped(FUNCTIONS[name])}, "arn:aws:iam::000000000000:role/r"
    lambda_.create_function(
        FunctionName=name, Runtime="python3.12", Role=role, Handler="app.handler", Code=code
    )
    lambda_.invoke(FunctionName=name, Payload=b"{}")

    found = [each.error for each in run.failures.new() if each.function == name]

    assert len(found) == 1
    assert error in found[0]


EVENT = {"Records": [{"messageId": "a"}, {"messageId": "b"}]}


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"body": None}, ""),
        ({"body": {"batchItemFailures": []}}, ""),
        ({"body": {"batchItemFailures": [{"itemIdentifier": "b"}]}}, "1 of 2 messages return"),
        (
            {"error": True, "body": {"errorType": "Sandbox.Timedout", "errorMessage": "late"}},
            "Sandbox.Timedout: late",
        ),
    ],
)
def test_what_went_wrong_is_the_error_or_the_messages_that_return(result, error):
    assert error_of(result, EVENT) == error


def test_lines_are_one_of_a_function_in_30_seconds_with_the_count_since_the_last(tmp_path):
    at, now = [100.0], [0.0]
    log = FailureLog(tmp_path, lambda: at[0])
    log.add("early", "before the batch")
    at[0] = 200.0
    notes = FailureNotes(FailureLog(tmp_path), 150.0, lambda: now[0])
    log.add("sweep", "KeyError: 1\nmore")
    first = list(notes.lines())
    log.add("sweep", "KeyError: 2")
    log.add("sweep", "KeyError: 3")
    log.add("app:handler", "KeyError: 4")
    second, now[0] = list(notes.lines()), 31.0

    assert first == ["sweep fails: KeyError: 1; see: fanin local logs sweep"]
    assert second == ["app:handler fails: KeyError: 4"]
    assert list(notes.lines()) == ["sweep fails (2 times): KeyError: 3; see: fanin local logs sweep"]
    assert list(notes.lines()) == []
