"""``fanin local work``: the messages of a queue are fed to a function as Lambda does."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import boto3
import pytest
from moto import mock_aws

from fanin.cli.local_run.local_work import too_short
from fanin.local.user_function import feeding
from fanin.local.user_function.feeding import (
    EventPerformer,
    Feeder,
    FunctionPerformer,
    environment_of_function,
)
from fanin.local.user_function.function_process import FunctionProcess, InvocationFailed
from fanin.local.user_function.source import dead_letter_queue_name, source_of
from fanin.local.user_function.source_changes import SourceChanges

RUN = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "FANIN_URL": "http://127.0.0.1:2",
}
APP = """
import os, sys, tempfile, time

def handler(event, context):
    failed = []
    for record in event["Records"]:
        if record["body"] == "raise":
            raise KeyError("picture")
        if record["body"] == "exit":
            os._exit(7)
        if record["body"] == "sleep":
            time.sleep(60)
        if record["body"] == "scribble":
            os.write(int(sys.argv[3]), b"no answer\\n")
        if record["body"] == "elsewhere":
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
            return None
        if record["body"] == "back":
            failed.append({"itemIdentifier": record["messageId"]})
    with open("worked", "a") as file:
        print(*[record["body"] for record in event["Records"]], file=file)
    return {"batchItemFailures": failed}

def seen(event, context):
    return {"event": event, "left": context.get_remaining_time_in_millis(), "url": os.environ["FANIN_URL"]}

def odd(event, context):
    return {"set": {1}}

answer = 42
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The directory of an app, which is the current one."""
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def process(folder):
    """Makes the process of a handler; all are stopped."""
    processes = []

    def make(spec="app:handler"):
        processes.append(FunctionProcess(spec, sys.executable, environment_of_function(os.environ, RUN)))
        processes[-1].start()
        return processes[-1]

    yield make
    for each in processes:
        each.stop()


@pytest.fixture
def sqs(monkeypatch):
    monkeypatch.setattr(feeding, "WAIT_SECONDS", 0)
    with mock_aws():
        yield boto3.client("sqs", "us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")


def event(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]}


def test_a_handler_gets_the_event_the_time_that_is_left_and_the_environment_of_the_run(process):
    answer = process("app:seen").invoke(event("a"), 30)

    assert answer["event"] == event("a")
    assert 0 < answer["left"] <= 30_000
    assert answer["url"] == RUN["FANIN_URL"]


def test_an_invocation_that_raises_shows_the_trace_from_the_app_on(process, capfd):
    function = process()

    with pytest.raises(InvocationFailed, match=r"it raised KeyError: 'picture'$"):
        function.invoke(event("raise"), 30)

    trace = capfd.readouterr().err
    assert "KeyError: 'picture'" in trace
    assert "in handler" in trace
    assert "invoking.py" not in trace
    assert function.invoke(event("ok"), 30) == {"batchItemFailures": []}


def test_a_handler_that_leaves_a_folder_that_is_gone_has_done_its_work(process, folder):
    function = process()

    assert function.invoke(event("elsewhere"), 30) is None
    assert function.files == [folder / "app.py"]


def test_a_process_that_ends_or_is_late_fails_its_invocation_and_is_started_again(process):
    function = process()

    with pytest.raises(InvocationFailed, match="ended with exit code 7"):
        function.invoke(event("exit"), 30)
    with pytest.raises(InvocationFailed, match="is not readable: b'no answer'"):
        function.invoke(event("scribble"), 30)
    with pytest.raises(InvocationFailed, match=r"not returned after 0\.3 s"):
        function.invoke(event("sleep"), 0.3)
    assert function.invoke(event("ok"), 30) == {"batchItemFailures": []}


@pytest.mark.parametrize(
    ("spec", "source", "shown"),
    [
        ("app:absent", APP, "no attribute 'absent'"),
        ("app:answer", APP, "app:answer is a int, and no function"),
        ("nowhere:handler", APP, "No module named 'nowhere'"),
        ("app:handler", "import sys\nsys.exit('no settings')", "no settings"),
        ("app:handler", "def handler(:", "SyntaxError"),
    ],
)
def test_an_app_that_cannot_be_loaded_is_shown_and_named_for_the_next_change(
    process, folder, capfd, spec, source, shown
):
    (folder / "app.py").write_text(source)
    function = process(spec)

    assert not function.is_ready
    assert shown in capfd.readouterr().err
    assert spec.startswith("nowhere") or folder / "app.py" in function.files


def test_the_files_of_the_app_are_those_under_its_directory(process, folder):
    (folder / "parts").mkdir()
    (folder / "parts" / "rows.py").write_text("ROWS = 1")
    (folder / "app.py").write_text("import json, parts.rows\ndef handler(event, context): pass")

    assert process().files == [folder / "app.py", folder / "parts" / "rows.py"]


@pytest.mark.parametrize("change", ["edit", "new", "remove"])
def test_a_file_that_is_edited_new_or_gone_is_a_change(tmp_path, change):
    file = tmp_path / "parts" / "rows.py"
    file.parent.mkdir()
    file.write_text("1")
    changes = SourceChanges(tmp_path)
    changes.include([file])
    assert not changes.is_any()
    if change == "edit":
        file.write_text("12")
    elif change == "new":
        (tmp_path / "other.py").touch()
    else:
        file.unlink()

    assert changes.is_any()


def test_the_environment_has_no_aws_of_the_user_and_no_proxy_before_the_run():
    user = {"AWS_PROFILE": "prod", "AWS_ENDPOINT_URL_SQS": "https://x", "NO_PROXY": "corp", "PATH": "/bin"}
    environment = environment_of_function(user, RUN)

    assert not {"AWS_PROFILE", "AWS_ENDPOINT_URL_SQS"} & environment.keys()
    assert {name: environment[name] for name in RUN} == RUN
    assert (environment["NO_PROXY"], environment["PATH"]) == ("corp,127.0.0.1", "/bin")


def attributes(sqs, url):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]


@pytest.mark.parametrize("name", ["work", "work.fifo"])
def test_an_absent_queue_is_created_with_a_dead_letter_queue_and_a_second_start_changes_nothing(sqs, name):
    source = source_of(sqs, name)
    policy = json.loads(attributes(sqs, source.url)["RedrivePolicy"])
    before = attributes(sqs, source.url)
    again = source_of(sqs, name)

    assert source.dead == dead_letter_queue_name(name) == policy["deadLetterTargetArn"].rpartition(":")[2]
    assert (source.visibility, policy["maxReceiveCount"]) == (30, 3)
    assert again == source
    assert attributes(sqs, source.url) == before


def test_a_queue_of_the_user_is_left_as_it_is_unless_an_option_says_otherwise(sqs):
    sqs.create_queue(QueueName="mine", Attributes={"VisibilityTimeout": "77"})

    assert (source_of(sqs, "mine").visibility, source_of(sqs, "mine").dead) == (77, None)
    source = source_of(sqs, "mine", visibility=5, receives=9)
    assert (source.visibility, source.dead) == (5, "mine-dead-letter-queue")
    assert json.loads(attributes(sqs, source.url)["RedrivePolicy"])["maxReceiveCount"] == 9


def test_a_record_has_the_form_of_a_lambda_event(sqs):
    source = source_of(sqs, "work")
    given = {
        "itemId": {"DataType": "String", "StringValue": "a:b:1"},
        "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    sqs.send_message(QueueUrl=source.url, MessageBody="x", MessageAttributes=given)
    (record,) = source.receive(10, 0)

    assert (record["body"], record["eventSourceARN"]) == ("x", source.arn)
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["messageAttributes"]["itemId"]["stringValue"] == "a:b:1"
    assert record["messageAttributes"]["raw"]["binaryValue"] == "AP8="
    assert {"messageId", "receiptHandle", "md5OfBody", "awsRegion"} <= record.keys()


class Function:
    """A function in this process, in place of its process."""

    spec, files = "app:handler", ()

    spec = "app:handler"

    def __init__(self, call, is_ready=True):
        self.call, self.is_ready, self.starts = call, is_ready, 0

    def restart(self):
        self.starts += 1

    def stop(self):
        self.is_ready = False

    def invoke(self, event, seconds):
        return self.call(event)


def feeder_of(source, call, folder, **options):
    lines = []
    feeder = Feeder(source, FunctionPerformer(Function(call), 30, lines.append), folder, **options)
    feeder._load()
    return feeder, lines


def bodies(event):
    return [record["body"] for record in event["Records"]]


def test_what_the_answer_names_comes_back_until_it_is_a_dead_letter_message(sqs, tmp_path):
    source = source_of(sqs, "work", visibility=0)
    delivered = []

    def call(event):
        delivered.append(bodies(event))
        failed = [{"itemIdentifier": each["messageId"]} for each in event["Records"] if each["body"] == "bad"]
        return {"batchItemFailures": failed}

    for body in ("good", "bad", "fine"):
        sqs.send_message(QueueUrl=source.url, MessageBody=body)
    feeder, lines = feeder_of(source, call, tmp_path)
    for _ in range(5):
        feeder.step()
    dead = sqs.get_queue_url(QueueName=source.dead)["QueueUrl"]

    assert sorted(delivered[0]) == ["bad", "fine", "good"]
    assert delivered[1:] == [["bad"], ["bad"]]
    assert [each["Body"] for each in sqs.receive_message(QueueUrl=dead)["Messages"]] == ["bad"]
    assert lines[0] == "1 of 3 messages return in 0 s"
    assert lines[-1] == "the queue is empty: 2 messages deleted, 3 returned"


def test_a_handler_of_events_gets_each_alone_and_its_answer_says_nothing_about_the_message(sqs, tmp_path):
    source, got, failed = source_of(sqs, "endings", visibility=0), [], []

    def call(event):
        got.append(event["detail-type"])
        if event["detail-type"] == "BatchFailed":
            raise InvocationFailed("it raised KeyError: 1")
        return 5

    for name in ("BatchCompleted", "BatchFailed"):
        sqs.send_message(QueueUrl=source.url, MessageBody=json.dumps({"detail-type": name}))
    performer = EventPerformer(Function(call), 30, lambda _: None, failed=lambda *facts: failed.append(facts))
    feeder = Feeder(source, performer, tmp_path, 1)
    feeder._load()
    for _ in range(5):
        feeder.step()

    assert sorted(got) == ["BatchCompleted", "BatchFailed", "BatchFailed", "BatchFailed"]
    assert failed == [("app:handler", "it raised KeyError: 1")] * 3
    assert attributes(sqs, source.url)["ApproximateNumberOfMessages"] == "0"


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (InvocationFailed("it raised"), "the invocation failed: it raised"),
        ("ok", "the handler's answer is no partial batch response: 'ok'"),
        ({"batchItemFailures": [{"itemIdentifier": "x"}]}, "names messages that it did not get"),
    ],
)
def test_a_failed_invocation_and_an_answer_of_another_form_return_the_whole_delivery(
    sqs, tmp_path, answer, line
):
    source = source_of(sqs, "work")

    def call(event):
        if isinstance(answer, Exception):
            raise answer
        return answer

    for body in "ab":
        sqs.send_message(QueueUrl=source.url, MessageBody=body)
    feeder, lines = feeder_of(source, call, tmp_path)
    feeder.step()

    assert attributes(sqs, source.url)["ApproximateNumberOfMessagesNotVisible"] == "2"
    assert line in lines[0]
    assert lines[1] == "2 of 2 messages return in 30 s"


def test_an_interrupted_delivery_is_visible_again_at_once(sqs, tmp_path):
    source = source_of(sqs, "work")
    sqs.send_message(QueueUrl=source.url, MessageBody="a")

    def call(event):
        raise KeyboardInterrupt

    feeder, _ = feeder_of(source, call, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        feeder.step()

    assert attributes(sqs, source.url)["ApproximateNumberOfMessages"] == "1"


def test_deliveries_have_as_many_messages_as_asked_for(sqs, tmp_path):
    source, sizes = source_of(sqs, "work"), []
    for n in range(30):
        sqs.send_message(QueueUrl=source.url, MessageBody=str(n))
    feeder, _ = feeder_of(source, lambda event: sizes.append(len(bodies(event))), tmp_path, batch=25)
    feeder.step()
    feeder.step()

    assert sizes == [25, 5]


def test_an_app_that_is_broken_takes_no_message_until_it_is_mended(sqs, tmp_path):
    source, delivered = source_of(sqs, "work"), []
    sqs.send_message(QueueUrl=source.url, MessageBody="a")
    feeder, lines = feeder_of(source, lambda event: delivered.append(bodies(event)), tmp_path)
    feeder.performer.function.is_ready, feeder.sleep = False, lambda _: None
    feeder.step()
    assert delivered == []
    (tmp_path / "app.py").touch()
    feeder.performer.function.is_ready = True
    feeder.step()

    assert feeder.performer.function.starts == 2
    assert lines[0] == "reloading: the files of the app changed"
    assert delivered == [["a"]]


def test_an_edited_app_is_loaded_anew_and_stop_ends_its_process(sqs, folder, process):
    source, function = source_of(sqs, "work"), process()
    feeder = Feeder(source, FunctionPerformer(function, 30, lambda _: None), folder)
    stop = threading.Event()
    feeder._load()
    before = function._process.pid
    (folder / "app.py").write_text(APP.replace('open("worked"', 'open("worked_2"'))
    sqs.send_message(QueueUrl=source.url, MessageBody="a")
    feeder.step()

    assert function._process.pid != before
    assert (folder / "worked_2").read_text() == "a\n"
    stop.set()
    feeder.run(stop)
    assert function._process is None


def test_a_function_ends_with_its_parent(process):
    function = process()
    child = function._process
    os.close(function._requests)
    function._requests = os.open(os.devnull, os.O_WRONLY)

    assert child.wait(60) == 0


@pytest.mark.parametrize(("seconds", "is_short"), [(0.5, True), (2, True), (2.5, False), (30, False)])
def test_an_invocation_within_the_margin_of_a_handler_is_reported_with_the_numbers(seconds, is_short):
    warning = too_short(seconds) or ""

    assert (f"has {seconds} s" in warning, "less than 2 s left" in warning) == (is_short, is_short)
