"""Which handlers and options a worker takes."""

from __future__ import annotations

import functools
import threading

import boto3
import pytest

from fanin.client.consuming.chunk_consumer import EachConsumer
from fanin.client.sqs_worker.handlers import consumer_of
from fanin.errors import InvalidRequest, NotFound
from fanin.testing import FakeFanin

FANIN = FakeFanin()


@FANIN.acks(fail_after=2)
def acked(record):
    """A handler of Lambda."""


@FANIN.acks_each
def each(item):
    """One of chunks."""


@functools.wraps(acked)
def traced(event, context):
    return acked(event, context)


async def awaited(record):
    """A coroutine function."""


def of_an_event(event, context):
    """A handler of Lambda without a consumer."""


def generator(record):
    yield record


def test_a_handler_of_acks_has_its_own_consumer_and_a_function_gets_one():
    assert consumer_of(acked, None, {}).fail_after == 2
    assert isinstance(consumer_of(each, None, {}), EachConsumer)
    assert consumer_of(awaited, FANIN._transport, {"fail_after": 3}).in_tasks
    assert consumer_of(awaited, FANIN._transport, {"each": True, "results": True}).results


@pytest.mark.parametrize(
    ("handler", "options", "sentence"),
    [
        (acked, {"fail_after": 3}, "fail_after is an option of @fanin.acks here"),
        (each, {"each": True}, "each is an option of @fanin.acks here"),
        (traced, {}, "a function around a handler"),
        (of_an_event, {}, "called with one argument"),
        (generator, {}, "a generator function"),
        ("app:handler", {}, "the handler is a function, not 'app:handler'"),
        (awaited, {"each": True, "skip_done": True}, "skip_done is no option with each=True"),
        (awaited, {"fail_after": 0.5}, "fail_after is a whole number"),
        (awaited, {"results": "yes"}, "results is True or False"),
        (awaited, {"skip_done": 1}, "skip_done is True or False"),
        (awaited, {"stop": 3}, "stop is a threading.Event, not a value of type int"),
    ],
)
def test_what_cannot_work_is_refused(handler, options, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        consumer_of(handler, FANIN._transport, options)


@pytest.mark.parametrize("name", ["concurency", "margin_seconds"])
def test_an_option_that_a_worker_does_not_have_is_refused_as_an_argument_is(name):
    with pytest.raises(TypeError, match=f"work has no option {name}; it has concurrency, visibility"):
        consumer_of(awaited, FANIN._transport, {name: 3})


def test_a_queue_that_has_no_such_name_is_refused_before_any_work(moto_queue):
    with pytest.raises(InvalidRequest, match="neither the name nor the URL of a queue"):
        FANIN.work("a b", awaited)
    with pytest.raises(NotFound, match="there is no queue 'absent' at"):
        FANIN.work("absent", awaited)


def test_a_worker_takes_the_name_of_its_queue_and_receives_nothing_once_it_is_to_stop(moto_queue):
    sqs = boto3.client("sqs")
    sqs.send_message(QueueUrl=moto_queue, MessageBody="a")
    stop = threading.Event()
    stop.set()

    assert FANIN.work("work", awaited, stop=stop).returned == 0
    assert sqs.receive_message(QueueUrl=moto_queue)["Messages"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"concurrency": 0}, "concurrency is a whole number from 1 to 10000"),
        ({"visibility": 4}, "visibility is a whole number from 5"),
        ({"grace_seconds": -1}, "grace_seconds is a number of seconds"),
    ],
)
def test_options_have_bounds(options, sentence, moto_queue):
    with pytest.raises(InvalidRequest, match=sentence):
        FANIN.work(moto_queue, awaited, **options)


def test_an_absent_queue_is_named(moto_queue):
    with pytest.raises(NotFound, match=f"there is no queue {moto_queue}x"):
        FANIN.work(f"{moto_queue}x", awaited)
