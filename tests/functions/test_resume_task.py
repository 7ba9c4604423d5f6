"""The end of a batch resumes the task or callback that waits for it, once, whatever is repeated or lost."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.session import Session
from botocore.stub import Stubber

from fanin.api.bus_events.ending_events import endings
from fanin.aws import durable_callbacks, step_functions
from fanin.errors import StoreUnavailable
from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.options import OnFailures, TokenKind
from functions import resume_task
from functions.wiring import tracking
from tests.tracker.calls import Clock

TOKEN = "AQCEAAAAKgAAAAMAAAAA/+="
HOUR = timedelta(hours=1)


class Crash(BaseException):
    """The process of the function is killed."""


class States:
    """AWS with one waiting task or callback: *ends* is how it ended, *faults* what the next requests meet."""

    def __init__(self, kind: TokenKind, *faults: Any) -> None:
        self.kind = kind
        self.ends: list[tuple[str, dict[str, Any]]] = []
        self.faults = list(faults)
        self.asked = 0

    def send_task_success(self, **request: str) -> dict[str, Any]:
        return self._end("success", {"output": json.loads(request["output"])}, request["taskToken"])

    def send_task_failure(self, **request: str) -> dict[str, Any]:
        failure = {"error": request["error"], "cause": json.loads(request["cause"])}
        return self._end("failure", failure, request["taskToken"])

    def send_durable_execution_callback_success(self, **request: Any) -> dict[str, Any]:
        return self._end("success", {"output": json.loads(request["Result"])}, request["CallbackId"])

    def send_durable_execution_callback_failure(self, **request: Any) -> dict[str, Any]:
        error = request["Error"]
        assert error["ErrorMessage"] == error["ErrorType"]
        failure = {"error": error["ErrorType"], "cause": json.loads(error["ErrorData"])}
        return self._end("failure", failure, request["CallbackId"])

    def _end(self, how: str, payload: dict[str, Any], token: str) -> dict[str, Any]:
        self.asked += 1
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        if token != TOKEN:
            raise AssertionError(token)
        if self.ends:
            raise refused("TaskTimedOut" if self.kind is TokenKind.TASK else "CallbackTimeoutException")
        self.ends.append((how, payload))
        if fault is not None:
            raise fault
        return {}


def refused(code: str, status: int = 400) -> Exception:
    """What botocore raises for an error of AWS."""
    client = Session().create_client(
        "stepfunctions", "eu-west-1", aws_access_key_id="a", aws_secret_access_key="s"
    )
    with Stubber(client) as stub:
        stub.add_client_error("send_task_success", code, http_status_code=status)
        with pytest.raises(client.exceptions.ClientError) as raised:
            client.send_task_success(taskToken="t", output="{}")
    return raised.value


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Tracker:
    tracker = Tracker(MemoryStore(), page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)
    monkeypatch.setattr(tracking, "tracker", lambda: tracker)
    return tracker


@pytest.fixture(params=TokenKind)
def states(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> States:
    states = States(request.param)
    is_task = states.kind is TokenKind.TASK
    monkeypatch.setattr(resume_task.clients, "workflows" if is_task else "callbacks", lambda: states)
    return states


def opened(tracker: Tracker, states: States, on_failures: OnFailures = OnFailures.SUCCEED):
    token = {"task_token" if states.kind is TokenKind.TASK else "durable_callback_id": TOKEN}
    batch = tracker.open("t", OpenBatch(**token, deadline=HOUR, on_failures=on_failures))
    group = tracker.add("t", batch.batch_id, 2).groups[0].id
    tracker.close("t", batch.batch_id, "c")
    return batch.batch_id, [f"{batch.batch_id}:{group}:{index}" for index in range(2)]


def ack(tracker: Tracker, items: list[str], outcome: Outcome = Outcome.SUCCESS) -> None:
    tracker.ack("t", [Ack.of(item, "c", outcome) for item in items])


def event(tracker: Tracker, batch_id: str) -> dict[str, Any]:
    """The delivery of the batch's ending event, as the rule puts it into the queue."""
    (detail,) = endings(
        [{"dynamodb": {"Keys": {"pk": {"S": f"t#{batch_id}"}, "sk": {"S": "batch"}}}}], tracker
    )
    message = {"source": "fanin", "detail-type": detail["detailType"], "detail": detail}
    return {"Records": [{"messageId": "m", "body": json.dumps(message)}]}


def handled(delivery: dict[str, Any]) -> list[dict[str, str]]:
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 30_000)
    failures: list[dict[str, str]] = resume_task.handler(delivery, context)["batchItemFailures"]
    return failures


def test_a_task_succeeds_with_the_event_of_its_batch(tracker, states):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    delivery = event(tracker, batch_id)

    assert handled(delivery) == []
    ((how, output),) = states.ends
    assert how == "success"
    assert output["output"] == json.loads(delivery["Records"][0]["body"])["detail"]
    assert (output["output"]["result"], output["output"]["resumes"]) == ("succeeded", True)


@pytest.mark.parametrize(
    ("on_failures", "end"), [(OnFailures.SUCCEED, "success"), (OnFailures.FAIL, "failure")]
)
def test_failed_items_fail_the_task_where_open_said_so(tracker, states, on_failures, end):
    batch_id, items = opened(tracker, states, on_failures)
    ack(tracker, items[:1], Outcome.FAILURE)
    ack(tracker, items[1:])
    handled(event(tracker, batch_id))

    ((how, failure),) = states.ends
    assert how == end
    assert failure.get("error", "fanin.Failed") == "fanin.Failed"
    assert failure.get("output", failure.get("cause"))["result"] == "completed_with_failures"


@pytest.mark.parametrize("error", ["fanin.Cancelled", "fanin.TimedOut"])
def test_a_batch_that_did_not_complete_fails_the_task_and_says_why(tracker, states, clock, error):
    batch_id, _ = opened(tracker, states)
    if error == "fanin.Cancelled":
        tracker.cancel("t", batch_id, "not wanted")
    clock.at += 2 * HOUR
    tracker.sweep()
    handled(event(tracker, batch_id))

    ((how, failure),) = states.ends
    assert (how, failure["error"]) == ("failure", error)
    assert error == "fanin.TimedOut" or failure["cause"]["reason"] == "not wanted"


def test_an_event_that_is_delivered_twice_resumes_the_task_once(tracker, states):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    delivery = event(tracker, batch_id)

    assert handled(delivery) == handled(delivery) == []
    assert (len(states.ends), states.asked) == (1, 1)


def test_a_function_that_is_killed_after_it_has_ended_the_task_resumes_it_once(tracker, states):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    delivery = event(tracker, batch_id)
    states.faults = [Crash()]

    with pytest.raises(Crash):
        handled(delivery)
    assert handled(delivery) == handled(delivery) == []
    assert (len(states.ends), states.asked) == (1, 2)


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException", "TooManyRequestsException"])
def test_a_task_that_could_not_be_ended_is_tried_again(tracker, states, code):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    delivery = event(tracker, batch_id)
    states.faults = [refused(code)]

    assert handled(delivery) == [{"itemIdentifier": "m"}]
    assert handled(delivery) == []
    assert len(states.ends) == 1


def test_the_log_says_that_a_key_is_refused(tracker, states, caplog):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    states.faults = [refused("KMSAccessDeniedException", status=502)]

    assert handled(event(tracker, batch_id)) == [{"itemIdentifier": "m"}]
    assert "KMSAccessDeniedException" in caplog.text


def test_a_token_that_ends_nothing_any_more_is_done(tracker, states):
    sender = step_functions if states.kind is TokenKind.TASK else durable_callbacks
    for asked, code in enumerate(sorted(sender.ENDED), start=1):
        batch_id, items = opened(tracker, states)
        ack(tracker, items)
        delivery = event(tracker, batch_id)
        states.faults = [refused(code)]

        assert handled(delivery) == handled(delivery) == []
        assert (states.ends, states.asked) == ([], asked)


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_an_event_of_a_batch_that_has_not_ended_so_ends_no_task(tracker, states, is_cancelled):
    batch_id, _ = opened(tracker, states)
    if is_cancelled:
        tracker.cancel("t", batch_id)
    forged = {"tenant": "t", "batchId": batch_id, "eventId": f"{batch_id}:COMPLETE"}
    delivery = {"Records": [{"messageId": "m", "body": json.dumps({"detail": forged})}]}

    assert handled(delivery) == []
    assert states.asked == 0


def test_without_time_nothing_is_begun(tracker, states):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 5_000)

    assert resume_task.handler(event(tracker, batch_id), context)["batchItemFailures"]
    assert states.asked == 0


def test_neither_the_log_nor_the_metrics_have_the_token(tracker, states, caplog, capsys):
    batch_id, items = opened(tracker, states)
    ack(tracker, items)
    delivery = event(tracker, batch_id)
    timed_out = ReadTimeoutError(endpoint_url=f"https://lambda/durable-execution-callbacks/{TOKEN}/succeed")
    states.faults = [refused("AccessDeniedException"), StoreUnavailable("lost"), timed_out]
    if states.kind is TokenKind.TASK:
        states.faults.pop()  # its URL has no token
    for _ in range(4):
        handled(delivery)

    assert states.ends
    assert TOKEN not in caplog.text + "".join(capsys.readouterr()) + json.dumps(delivery)
    assert "TasksResumed" not in caplog.text
