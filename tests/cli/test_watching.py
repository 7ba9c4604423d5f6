"""``fanin watch`` and ``fanin wait``: what they print, how often they ask, and how they end."""

from __future__ import annotations

import io
import random
from functools import partial

import pytest
from moto import mock_aws

from fanin import Fanin, State
from fanin.cli.arguments.where import Where
from fanin.cli.batches import watch
from fanin.cli.terminal.exits import ExitCode
from fanin.cli.verbs import Invocation
from fanin.client.timer import Timer
from fanin.local import run_directories
from fanin.local.dead_letter_queues import LOOK_SECONDS
from fanin.local.failures import FailureLog
from fanin.local.run_directories import State as RunState
from fanin.local.user_function.source import source_of
from tests.api.published import checked
from tests.cli.serving import refusal
from tests.contract import moto_clients

JSON = {"content-type": "application/json"}


class Clock(Timer):
    """A clock that a sleep moves; *then* is called after each sleep."""

    def __init__(self, then=lambda: None):
        self.now, self.then, self.pauses = 0.0, then, []
        self._random = random.Random(0)

    def monotonic(self):
        return self.now

    def chance(self):
        return self._random.random()

    def sleep(self, seconds):
        self.now += seconds
        self.pauses.append(seconds)
        self.then()


@pytest.fixture
def clock(monkeypatch):
    """The clock of the verbs."""
    clock = Clock()
    monkeypatch.setattr(watch, "REAL", clock)
    return clock


@pytest.fixture
def sqs(monkeypatch):
    """SQS of the local run."""
    with mock_aws():
        client = moto_clients.client("sqs")
        monkeypatch.setattr(watch, "sqs_of", lambda _site: client)
        yield client


def test_a_wait_names_functions_that_fail_and_dead_letter_queues_that_hold_messages(
    fanin, clock, served, monkeypatch, tmp_path, sqs
):
    monkeypatch.setattr(run_directories, "root", lambda: tmp_path)
    run = RunState(port=1, url=served.url, endpoint="", outputs={"ApiUrl": ""}, pid=1, host=1, command=True)
    (tmp_path / "1").mkdir()
    monkeypatch.setattr(run_directories, "running", lambda: [run])
    log = FailureLog(tmp_path / "1")
    FailureLog(tmp_path / "1", lambda: 1.0).add("app:old", "long ago")
    batch_id, prefix = batch_of(fanin)
    log.add("app:handler", "it raised KeyError: 'picture'")
    deleted, dead = source_of(sqs, "a").dead, source_of(sqs, "work").dead
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=deleted)["QueueUrl"])
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=dead)["QueueUrl"], MessageBody="a")
    clock.then = lambda: fanin("ack", f"{prefix}:0-39") if clock.now > 2 * LOOK_SECONDS else None
    completed = fanin("wait", "k").ok()

    command = f"fanin redrive {dead} --batch {batch_id} --dry-run"
    assert completed.out == ""
    assert completed.err.splitlines() == [
        "app:handler fails: it raised KeyError: 'picture'",
        f"the dead-letter queue {dead} holds 1 message; see: {command}",
    ]
    assert fanin("wait", "k").ok().err.count("dead-letter") == 0  # it has ended


def do_next(steps):
    """Do the next of *steps*, if any is left."""
    next(steps, list)()


def batch_of(fanin, key="k", count=40):
    """A closed batch, and the prefix of its items."""
    batch_id = fanin("open", key).ok().out.strip()
    prefix = fanin("add", key, str(count)).ok().out.strip().rpartition(":")[0]
    fanin("close", key).ok()
    return batch_id, prefix


def test_a_watch_prints_each_state_and_a_line_every_ten_seconds_and_ends_with_the_batch(fanin, clock, served):
    client = Fanin(served.url)
    batch_id = fanin("open", "k").ok().out.strip()
    prefix = fanin("add", "k", "40").ok().out.strip().rpartition(":")[0]

    def work():
        second = int(clock.now)
        if second >= 20:
            client.close(batch_id)
        client.ack([f"{prefix}:{index}" for index in range(min(40, second))])

    clock.then = work
    completed = fanin("watch", "k")
    lines = [line.split("\t") for line in completed.lines]

    assert completed.code == 0
    assert {tuple(line[:2]) for line in lines} == {("k", "OPEN"), ("k", "CLOSED"), ("k", "succeeded")}
    assert 4 <= len(lines) <= 4 + clock.now / 10
    assert lines[0] == ["k", "OPEN", "0", "40", "0", "", ""]
    assert lines[-1][2:5] + lines[-1][6:] == ["40", "40", "0", ""]
    rates = [float(line[5]) for line in lines[1:-1]]
    assert all(0.5 < rate < 1.5 for rate in rates)
    assert all((line[6] == "") == (line[1] == "OPEN") for line in lines[1:-1])
    asked = client._transport.administer("GET", f"/v1/batches/{batch_of(fanin, 'new')[0]}", {}, dict)
    assert all(0 <= pause - asked["retryAfterSeconds"] <= 0.2 for pause in clock.pauses)


@pytest.mark.parametrize("is_older", [False, True])
def test_few_pages_show_a_live_batch_and_all_its_end_or_each_look_of_an_older_api(
    fanin, clock, served, monkeypatch, is_older
):
    _, prefix = batch_of(fanin, count=40 * 1024)
    fanin("ack", *(f"{prefix}:{page * 1024}-{page * 1024 + 511}" for page in range(40))).ok()
    answer = served.answer
    if is_older:
        refused = refusal(400, "there is no such field")
        monkeypatch.setattr(
            served, "answer", lambda *given: refused if "progress=estimate" in given[1] else answer(*given)
        )
    clock.then = lambda: fanin("cancel", "k", "--yes").ok()
    first, last = (each["progress"] for each in fanin("watch", "k", "--json").documents)

    assert (first["exact"], last["exact"], last["acked"]) == (is_older, True, 40 * 512)


@pytest.mark.parametrize(
    ("end", "result", "code"),
    [
        (("ack", "ITEMS"), "succeeded", 0),
        (("fail", "ITEMS"), "completed_with_failures", 1),
        (("cancel", "k", "--yes"), "cancelled", 1),
    ],
)
@pytest.mark.parametrize("verb", ["watch", "wait"])
def test_the_exit_code_is_0_only_for_a_success(fanin, verb, end, result, code):
    batch_id, prefix = batch_of(fanin, count=3)
    fanin(*(f"{prefix}:0-2" if each == "ITEMS" else each for each in end)).ok()
    completed = fanin(verb, "k")
    document = fanin(verb, batch_id, "--json")

    assert (completed.code, document.code) == (code, code)
    assert [each["result"] for each in document.documents] == [result]
    checked("GET", f"/v1/batches/{batch_id}", 200, JSON, document.out)
    if verb == "watch":
        assert completed.lines[0].split("\t")[:2] == ["k", result]
    else:
        assert completed.out == ""
        assert completed.err == ("" if code == 0 else f"1 of 1 batches did not succeed: k ({result})\n")


@pytest.mark.parametrize("verb", ["watch", "wait"])
def test_the_reason_of_a_batch_that_was_cancelled_is_printed(fanin, verb):
    fanin("open", "k").ok()
    fanin("cancel", "k", "--yes", "--reason", "there is no object").ok()

    assert "k (cancelled): there is no object" in fanin(verb, "k").err


@pytest.mark.parametrize("verb", ["watch", "wait"])
def test_a_batch_of_which_enough_has_succeeded_is_a_success(fanin, verb):
    fanin("open", "k", "--min-succeeded", "1").ok()
    fanin("ack", fanin("add", "k", "2").ok().lines[0]).ok()
    completed = fanin(verb, "k", "--json").ok()

    assert [each["result"] for each in completed.documents] == ["enough"]


def test_a_wait_takes_several_batches_prints_nothing_and_names_those_that_failed(fanin, clock, served):
    for key in ("a", "b", "c"):
        batch_of(fanin, key, 1)
    client = Fanin(served.url)
    ids = {batch.user_key: batch.batch_id for batch in client.batches()}
    ends = iter(
        [
            lambda: client.cancel(ids["c"]),
            lambda: client.cancel(ids["a"]),
            lambda: client.ack_ranges(list(client.outstanding(ids["b"]))),
        ]
    )
    clock.then = partial(do_next, ends)
    completed = fanin("wait", "a", "b", "c")

    assert (completed.code, completed.out) == (ExitCode.REFUSED, "")
    assert completed.err == "2 of 3 batches did not succeed: a (cancelled), c (cancelled)\n"


def test_the_timeout_of_a_wait_is_that_of_all_batches_together(fanin, clock, served):
    client = Fanin(served.url)
    first, _ = batch_of(fanin, "a", 1)
    batch_of(fanin, "b", 1)
    clock.then = lambda: clock.now >= 50 and client.cancel(first)
    completed = fanin("wait", "a", "b", "--timeout", "1m30s")

    assert completed.code == ExitCode.TIMED_OUT
    assert completed.err == "batch b has not ended within 90 s\n"
    assert clock.now == pytest.approx(90)


class Terminal(io.StringIO):
    """A terminal of 80 columns."""

    def isatty(self):
        return True


def test_a_terminal_shows_one_line_that_is_drawn_again(fanin, clock, served):
    _, prefix = batch_of(fanin, "hello", 40)
    terminal = Terminal()
    work = iter(range(40))

    def ack():
        index = next(work, None)
        Fanin(served.url).ack([f"{prefix}:{index}"] if index is not None else [])

    clock.then = ack
    call = Invocation("watch", Where(url=served.url), False, False)
    found = watch.progress_of(call, call.names.id_of("hello"), None, clock)
    last = watch.drawn(found, terminal, lambda: 80)
    lines = terminal.getvalue().split("\r")[1:]

    assert last.status.state is State.COMPLETE
    assert len(lines) == 41
    assert all(line.removesuffix("\n").endswith("\x1b[K") for line in lines)
    assert lines[0].removesuffix("\x1b[K") == "hello ░░░░░░░░░░ 0 of 40"
    assert lines[-1] == "hello ██████████ 40 of 40  succeeded\x1b[K\n"
    assert "left" in lines[20]
