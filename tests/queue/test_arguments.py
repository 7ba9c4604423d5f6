"""Every public call about queues refuses arguments of a wrong type or value, in a sentence."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest

from fanin import AsyncQueue, Fanin, InvalidRequest, Job, Jobs, JobSettings, NewJob, Options, Queue
from fanin.client.queues.aio import AsyncJobs
from fanin.client.queues.queue_calls import QueueCalls
from fanin.queue import QueueKey
from fanin.queue.interface import WorkersQueue
from fanin.testing import FakeFanin
from fanin.testing.delivering import LambdaContext
from tests.item_ids import item_named
from tests.queue.conftest import OUTCOME


class Required:
    """What each call accepts for an argument that has no default here."""


NAN, INFINITE = float("nan"), float("inf")
NO_TEXTS = [7, b"a", ["a"], True, object()]
NO_NUMBERS = ["1", b"1", True, NAN, [], object()]
NO_WHOLE = [*NO_NUMBERS, 1.5, None]
NO_SECONDS = [*NO_NUMBERS, -1, -0.001, INFINITE, 366 * 86_400 + 1]
NO_FLAGS = [0, 1, "yes", None]
NO_LISTS = [None, 7, "abc", b"abc", {"a": 1}]
NO_JOBS = [None, 7, b"a", {}, "", "\udcff", "x" * 2049, ["a"]]
NO_NAMES = [*NO_TEXTS, None, "", "a b", ".a", "a/b", "a\n", "x" * 81]
NO_KEYS = [*NO_TEXTS, None, "", "\udcff", "x" * 2049]
NO_WRITES = [
    *NO_LISTS,
    [None],
    [{}],
    [{"Put": None}],
    [{"Get": {}}],
    [OUTCOME | {"Delete": {}}],
    [OUTCOME] * 99,
]
NO_PAYLOADS = [b"a", bytearray(b"a"), object(), {1, 2}, NAN, [b"a"], "\udcff", "x" * 131_071]
NO_EVENTS = [
    None,
    7,
    {},
    {"Records": None},
    {"Records": [{}]},
    {"Records": [7]},
    {"Records": [{"body": "x"}]},
]

WAIT = (0, NO_SECONDS)
ON_BUSY = ("reject", [None, "", "Reject", "wait", 7])
JOBS = (["a"], [*NO_LISTS, *([job] for job in NO_JOBS)])
TAKE = {"most": (10_000, [*NO_WHOLE, 0, -1, 10_001]), "wait": WAIT}
PARTS = ([0], ["0", b"0", 7, [], [-1], ["0"], [True], [1.0], [1]])
ADD = {
    "job": ("a", NO_JOBS),
    "payload": ({"a": [1]}, NO_PAYLOADS),
    "on_busy": ON_BUSY,
}
FAIL = {"job": (Required, [None, "a", 7]), "reason": ("boom", [None, 7, ["boom"]])}
ACK = {
    "job": (Required, [None, "a", 7]),
    "writes": ([OUTCOME] * 98, NO_WRITES),
    "result": (None, [object(), "of no item", float("nan")]),
}
RELEASE = {
    "job": (Required, [None, "a", 7]),
    "failed": (False, NO_FLAGS),
    "delay": (0, NO_SECONDS),
    "error": ("", [*NO_TEXTS, None]),
}
IDS = (["a"], [*NO_LISTS, [None], [7], [b"a"]])
NAMED = {"name": ("work", NO_NAMES)}
QUEUE_PARTS = (8, [0, 257, "8", 1.5, True])
SETTINGS = JobSettings(table="t", tenant="t")

ADMINISTRATION: dict[str, dict[str, tuple[Any, list[Any]]]] = {
    "ensure": {"parts": QUEUE_PARTS, "metrics": (True, [0, 1, "yes"])},
    "status": {},
    "sessions": {},
    "jobs": {"state": ("queued", [None, 7, "", "Queued", "ready", "done", ["queued"]])},
    "revive": {"dead_ids": ([], [*NO_LISTS, [None], [7], [b"a"], ["a"]])},
    "revive_all": {},
    "delete": {"keys": IDS, "dead_ids": ([], [*NO_LISTS, [7], ["a"]])},
    "pause": {},
    "resume": {},
    "remove": {"force": (True, NO_FLAGS)},
}
LISTS = ("sessions", "jobs")
CALLS: dict[type, dict[str, dict[str, tuple[Any, list[Any]]]]] = {
    Queue: ADMINISTRATION
    | {
        "add": ADD,
        "add_all": {"jobs": JOBS, "on_busy": ON_BUSY},
        "take": TAKE | {"parts": PARTS},
        "stream": {"wait": WAIT},
        "bounded": {"seconds": (30, [*NO_SECONDS, None])},
        "answer": {"event": ({"Records": []}, NO_EVENTS), "context": (LambdaContext(), [None, 7, object()])},
        "close": {},
        "sweep": {},
        "separate": {"doorbell": (lambda bell: bell, [])},
    },
    Jobs: {"ack": ACK, "release": RELEASE, "fail": FAIL},
    AsyncQueue: ADMINISTRATION
    | {
        "add": ADD,
        "add_all": {"jobs": JOBS, "on_busy": ON_BUSY},
        "take": TAKE | {"parts": PARTS},
        "stream": {"wait": WAIT},
    },
    AsyncJobs: {"ack": ACK, "release": RELEASE, "fail": FAIL},
    QueueCalls: {
        "queues": {},
        "queue": NAMED | {"at": (SETTINGS, ["t", 7]), "options": (Options(), [{}, 7])},
    },
}
VALUES: dict[type, dict[str, tuple[Any, list[Any]]]] = {
    NewJob: {
        "key": ("a", NO_KEYS),
        "payload": ({"a": [1]}, NO_PAYLOADS),
        "priority": (7, [*NO_WHOLE, -1, 1000]),
        "delay": (366 * 86_400, [*NO_SECONDS, None]),
        "item_id": (item_named("a"), [*NO_TEXTS, "", "a"]),
        "id": ("x" * 512, [*NO_TEXTS, "", "\udcff", "x" * 513]),
    },
    Options: {
        "parts": (8, [*NO_WHOLE, 0, 257]),
        "heartbeat": (0.25, [*NO_SECONDS, None, 0, 0.26]),
        "expiry": (0.5, [*NO_SECONDS, None, 0, 0.49]),
        "max_failures": (1_000_000, [*NO_NUMBERS, 0, -1, 1.5, 1_000_001]),
        "retry_delay": (1.0, [*NO_SECONDS, None]),
        "sweep": (5.0, [*NO_SECONDS, None]),
        "idle_sweep": (5.0, [*NO_SECONDS, None]),
        "doorbell_wait": (5.0, [*NO_SECONDS, None]),
        "renew": (True, NO_FLAGS),
    },
    QueueKey: {"tenant": ("t", [*NO_TEXTS, None]), "name": ("work", NO_NAMES)},
    JobSettings: {
        "table": ("t", [*NO_TEXTS, None]),
        "tenant": ("t", [*NO_TEXTS, None]),
        "doorbell_prefix": ("", [*NO_TEXTS, None, "x"]),
        "doorbell_key": ("", [*NO_TEXTS, None, "x", "arn:aws:kms:eu-west-1:111122223333:*"]),
        "doorbell_tags": ({}, [None, "x", [], {"a": 1}, {1: "a"}]),
    },
}


@dataclass
class Sent(Exception):
    """A call reached its transport."""

    name: str


class Nowhere:
    """A transport that sends nothing."""

    def __getattr__(self, name):
        def send(*_):
            raise Sent(name)

        return send


def cases():
    for owner, calls in CALLS.items():
        for call, arguments in calls.items():
            for name, (_, bad) in arguments.items():
                yield from ((owner, call, {name: value}) for value in bad)


def accepted(owner: type, call: str) -> dict[str, Any]:
    return {name: good for name, (good, _) in CALLS[owner][call].items()}


def outcome_of(owner: type, call: str, given: Mapping[str, Any]) -> Any:
    """Call a method of a queue with one busy job, or of a client, and enter what it returns."""
    queue = FakeFanin().queue("work", options=Options(parts=1))
    queue.add("busy")
    if owner in (AsyncQueue, AsyncJobs):
        return asyncio.run(awaited(queue, owner, call, given))
    if owner is QueueCalls:
        return getattr(Fanin(Nowhere()), call)(**given)
    if owner is not Jobs and Required not in given.values():
        return entered(getattr(queue, call)(**given))
    with queue.take(wait=0) as jobs:
        target = jobs if owner is Jobs else queue
        return entered(getattr(target, call)(**with_job(given, jobs[0])))


async def awaited(queue: Queue, owner: type, call: str, given: Mapping[str, Any]) -> Any:
    async with AsyncQueue(queue) as mine, mine.take(wait=0) as jobs:
        found = getattr(jobs if owner is AsyncJobs else mine, call)(**with_job(given, jobs[0]))
        if isinstance(found, AsyncJobs):
            async with found:
                return found
        if call in LISTS:
            return [row async for row in found]
        return await found if inspect.isawaitable(found) else found


def with_job(given: Mapping[str, Any], job: Job) -> dict[str, Any]:
    return {name: job if value is Required else value for name, value in given.items()}


def entered(found: Any) -> Any:
    if isinstance(found, AbstractContextManager):
        with found as value:
            return value
    return found


@pytest.mark.parametrize("of", CALLS)
def test_a_call_refuses_an_argument_in_a_sentence(of):
    for owner, call, bad in (case for case in cases() if case[0] is of):
        with pytest.raises(InvalidRequest) as refused:
            pytest.fail(f"{call}({bad}) returned {outcome_of(owner, call, accepted(owner, call) | bad)}")

        assert len(str(refused.value).split()) >= 4, (call, bad)
        assert len(str(refused.value)) < 300, (call, bad)


@pytest.mark.parametrize(("owner", "call"), [(owner, call) for owner in CALLS for call in CALLS[owner]])
def test_a_call_accepts_the_other_arguments(monkeypatch, owner, call):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    try:
        outcome_of(owner, call, accepted(owner, call))
    except Sent:
        assert owner is QueueCalls


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_refuses_each_argument_in_a_sentence(kind):
    good = {name: value for name, (value, _) in VALUES[kind].items()}
    assert kind(**good) == kind(**good)
    for name, (_, bad) in VALUES[kind].items():
        for value in bad:
            with pytest.raises(InvalidRequest) as refused:
                kind(**good | {name: value})

            assert len(str(refused.value).split()) >= 4, (name, value)


@pytest.mark.parametrize("owner", CALLS)
def test_every_public_call_and_each_of_its_arguments_is_in_the_table(owner):
    attributes = inspect.get_annotations(owner)
    public = {
        name: set(list(inspect.signature(call).parameters)[1:])
        for cls in (owner, WorkersQueue)
        if issubclass(owner, cls)
        for name, call in list(vars(cls).items())
        if inspect.isfunction(call) and not name.startswith("_") and name not in attributes
    }

    assert public == {call: set(arguments) for call, arguments in CALLS[owner].items()}


@pytest.mark.parametrize("kind", VALUES)
def test_every_field_of_a_value_is_in_the_table(kind):
    assert is_dataclass(kind)
    assert {field.name for field in fields(kind) if field.init} == set(VALUES[kind])
