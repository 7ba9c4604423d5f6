"""Functions of users that do no work when they are called, and errors that cannot be printed."""

from __future__ import annotations

import gc
import logging
import warnings
from concurrent.futures import Future
from functools import partial, wraps

import pytest

from fanin import Fanin, InvalidRequest
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from fanin.user_functions import WorkNotDone
from tests.client.conftest import TENANT, sqs_event


class Mute(Exception):
    """An error whose text cannot be made."""

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


async def coroutine(record, more=None): ...


async def async_generator(record, more=None):
    yield record


def generator(record, more=None):
    yield record


class Called:
    async def __call__(self, record): ...


class Generates:
    def __call__(self, record):
        yield record


class Bound:
    async def method(self, record): ...


IDLE = {
    "coroutine": coroutine,
    "async generator": async_generator,
    "generator": generator,
    "partial": partial(partial(coroutine, more=1), more=2),
    "partial of a generator": partial(generator, more=1),
    "object": Called(),
    "object that generates": Generates(),
    "partial of an object": partial(Called()),
    "method": Bound().method,
}


@wraps(coroutine)
def wrapped(record):
    return coroutine(record)


HIDDEN = {
    "coroutine": lambda record: coroutine(record, 1),
    "generator": lambda record: generator(record, 1),
    "async generator": lambda record: async_generator(record, 1),
    "wrapped": wrapped,
    "submitted to a pool": lambda record: Future(),  # as a pool's submit returns it
}


@pytest.fixture
def fanin():
    return Fanin(DirectTransport(Tracker(MemoryStore(), pause=lambda _: None), TENANT))


@pytest.fixture(params=IDLE.values(), ids=IDLE.keys())
def idle(request):
    return request.param


@pytest.fixture(params=HIDDEN.values(), ids=HIDDEN.keys())
def hidden(request):
    return request.param


def test_work_that_a_call_does_not_do_is_refused_where_it_is_decorated(fanin, idle):
    with pytest.raises(InvalidRequest, match=r"handle is a.* plain function.* or leave the decorator out"):
        fanin.acks(idle)
    for option in ("on_acked", "item_id"):
        with pytest.raises(InvalidRequest, match=f"{option} is a"):
            fanin.acks(**{option: idle})(print)
    with pytest.raises(InvalidRequest, match="item_id is a"):
        fanin.dead_letter_handler(item_id=idle)


def test_work_that_only_shows_when_it_is_called_is_a_failure_that_says_so(fanin, hidden, caplog):
    batch = fanin.open()
    items = batch.add(2)
    handler = fanin.acks(lambda record: hidden(record) if record["body"] == items[0] else None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = handler(sqs_event(*items), None)
        gc.collect()

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert batch.status().acked == 1
    assert "its work is not done" in caplog.text


def test_a_hook_that_was_not_run_is_an_error(fanin, hidden):
    handler = fanin.acks(on_acked=hidden)(print)

    with pytest.raises(WorkNotDone, match="on_acked returned a"):
        handler(sqs_event(*fanin.open().add(1)), None)


class LikeLambdas(logging.Handler):
    """Formats as the JSON logs of Lambda do: what the text of an error raises passes through."""

    def emit(self, record):
        record.getMessage()
        if record.exc_info:
            str(record.exc_info[1])


@pytest.fixture
def lambdas_log():
    logger, handler = logging.getLogger("fanin"), LikeLambdas()
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)


@pytest.mark.parametrize("fail_after", [None, 1])
def test_an_error_without_a_text_fails_its_own_message_and_no_other(fanin, lambdas_log, fail_after):
    batch = fanin.open()
    items = batch.add(3)

    def handle(record):
        if record["body"] == items[1]:
            raise Mute

    answer = fanin.acks(fail_after=fail_after)(handle)(sqs_event(*items), None)
    status = batch.status()

    assert answer["batchItemFailures"] == ([] if fail_after else [{"itemIdentifier": "m1"}])
    assert (status.acked, status.failed) == ((3, 1) if fail_after else (2, 0))
    assert [sample.reason for sample in batch.samples()] == (["Mute"] if fail_after else [])
