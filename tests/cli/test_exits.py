"""The exit code and the sentence of each error."""

from __future__ import annotations

import sys

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    ProfileNotFound,
)

from fanin import Fanin, WorkSummary
from fanin.cli.queues_and_tasks import work
from fanin.cli.queues_and_tasks.work import handler_of
from fanin.cli.terminal.exits import ExitCode, Refused, UsageError, code_of
from fanin.errors import AccessDenied, Conflict, InvalidRequest, NotFound, StoreUnavailable
from fanin.local import LocalRunError
from tests.cli.serving import refusal


def aws(code, status=400):
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Send")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Conflict("it is closed"), ExitCode.REFUSED),
        (NotFound("no batch"), ExitCode.REFUSED),
        (InvalidRequest("too long"), ExitCode.REFUSED),
        (Refused("two batches"), ExitCode.REFUSED),
        (LocalRunError("the port is in use"), ExitCode.REFUSED),
        (FileNotFoundError(2, "No such file", "rows.csv"), ExitCode.REFUSED),
        (aws("QueueDoesNotExist"), ExitCode.REFUSED),
        (ParamValidationError(report="r"), ExitCode.REFUSED),
        (UsageError("write 6h"), ExitCode.USAGE),
        (NoRegionError(), ExitCode.USAGE),
        (TimeoutError("not within 3 s"), ExitCode.TIMED_OUT),
        (AccessDenied("Forbidden"), ExitCode.DENIED),
        (NoCredentialsError(), ExitCode.DENIED),
        (ProfileNotFound(profile="p"), ExitCode.DENIED),
        (aws("AccessDenied", 403), ExitCode.DENIED),
        (aws("ExpiredToken", 403), ExitCode.DENIED),
        (StoreUnavailable("no answer"), ExitCode.UNANSWERED),
        (EndpointConnectionError(endpoint_url="u"), ExitCode.UNANSWERED),
        (aws("InternalError", 500), ExitCode.UNANSWERED),
        (KeyError("a bug"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_each_error_has_its_code(error, code):
    assert code_of(error) == code


def test_a_worker_that_ctrl_c_stops_says_how_to_go_on(fanin, monkeypatch):
    monkeypatch.setattr(work, "queue_url", lambda *_: "http://queue")
    monkeypatch.setattr(work, "handler_of", lambda _: print)
    monkeypatch.setattr(Fanin, "work", lambda *_, **__: WorkSummary(1, 0, 0, 0, 0, interrupted=True))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    completed = fanin("work", "app:handler", "--queue", "work")

    assert (completed.code, completed.out) == (ExitCode.INTERRUPTED, "")
    assert completed.err == "interrupted; what was not done is in the queue; run it again to go on\n"


def test_an_open_without_an_answer_names_the_key_to_repeat_it_with(fanin, served):
    served.faults.append(refusal(501))
    completed = fanin("open", "k", "--idempotency-key", "one")

    assert completed.code == ExitCode.UNANSWERED
    assert completed.err.endswith("the detail; it may have been done: repeat it with --idempotency-key one\n")


def test_a_sentence_that_quotes_the_api_controls_no_terminal(fanin, served):
    served.faults.append(refusal(409, r"a\u001b[2Jb\nc\u009b31md\u202ee"))

    assert fanin("list").err == "a\\x1b[2Jb\nc\\x9b31md\\u202ee\n"


GROUP = "00000000-0000-8000-8000-000000000000"
NO_TEXT = "\udcff"
"""What Python makes of an argument, or a line, that is a byte which no UTF-8 has."""


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("status", NO_TEXT), None),
        (("list", "--key", NO_TEXT), None),
        (("jobs", NO_TEXT), None),
        (("ack", f"{NO_TEXT}:{GROUP}:0"), None),
        (("ack", "-"), f"{NO_TEXT}:{GROUP}:0\n"),
        (("open", "k", "--idempotency-key", "\u4e2d"), None),
        (("open", "k", "--idempotency-key", "a\nb"), None),
    ],
    ids=str,
)
def test_what_no_request_can_carry_is_a_usage_error(process, arguments, stdin):
    completed = process(*arguments, stdin=stdin)

    assert (completed.code, completed.out) == (ExitCode.USAGE, "")
    assert "Traceback" not in completed.err


def test_counts_are_printed_of_what_was_acked_before_an_error(fanin, served):
    fanin("open", "k").ok()
    prefix = fanin("add", "k", "3000").ok().out.rpartition(":")[0]
    every_second = "\n".join(f"{prefix}:{index}" for index in range(0, 3_000, 2))
    real, seen = served.answer, []

    def second_is_lost(method, target, headers, body):
        if target == "/v1/acks":
            seen.append(headers["idempotency-key"])
        return refusal(501) if len(seen) == 2 else real(method, target, headers, body)

    served.answer = second_is_lost
    completed = fanin("ack", "-", stdin=every_second)

    assert (completed.code, completed.lines) == (ExitCode.UNANSWERED, ["accepted\t1000"])
    assert len(set(seen)) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["wrong_app:of_an_event"], "the handler is called with one argument"),
        (["wrong_app:acked", "--results"], "results is an option of @fanin.acks here"),
        (["wrong_app:acked", "--each"], "each is an option of @fanin.acks here"),
        (["wrong_app:none"], "wrong_app has no none"),
        (["awaited_app:acked"], "handle is a coroutine function"),
    ],
)
def test_a_handler_that_cannot_work_is_an_invalid_command_line(
    fanin, monkeypatch, tmp_path, arguments, sentence
):
    (tmp_path / "wrong_app.py").write_text(
        "import fanin\nacked = fanin.Fanin().acks(print)\ndef of_an_event(event, context): ...\n"
    )
    (tmp_path / "awaited_app.py").write_text(
        "import fanin\n@fanin.Fanin().acks\nasync def acked(record): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")

    completed = fanin("work", *arguments, "--queue", "http://127.0.0.1:1/work")

    assert (completed.code, sentence in completed.err) == (ExitCode.USAGE, True)


def test_an_app_that_lacks_a_package_is_named_with_the_python_that_loads_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "lacking.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    with pytest.raises(
        UsageError, match=rf"lacking was not loaded by {sys.executable}: .*nowhere_to_be_found'; inst"
    ):
        handler_of("lacking:work")
    assert 'lacking.py", line 1' in capsys.readouterr().err
