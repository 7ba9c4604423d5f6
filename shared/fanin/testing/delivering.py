"""Delivers messages to a handler as SQS and Lambda do, with redeliveries and partial batch responses."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from fanin.arguments import whole
from fanin.client.consuming.records import returned_ids
from fanin.errors import InvalidRequest
from fanin.user_functions import noted_failures, synchronous

Handler = Callable[[Any, Any], Mapping[str, Any] | None]
"""A Lambda handler of an SQS queue."""
Message = dict[str, Any]
"""A message of an SQS event, without what differs at each receive."""
REGION, QUEUE, FUNCTION = "us-east-1", "work", "worker"
ACCOUNT = "000000000000"
OF_HANDLERS = "a handler is called with an event and a context"
OF_FUNCTIONS = "of a function of a record: deliver(fanin.acks(work), bodies)"
OF_WORKERS = "run it in a function: deliver(fanin.acks(lambda record: asyncio.run(work(record))), bodies)"
RECEIVES_MAX, BATCH_MAX = 1000, 10_000
"""The largest ``maxReceiveCount`` of a queue, and the largest batch of a standard queue."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """*acked*: the bodies of the messages that the handler used up; *dead*: those of dead-letter messages."""

    acked: tuple[str, ...]
    dead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The context of an invocation, which has all its time left."""

    function_name: str = FUNCTION
    function_version: str = "$LATEST"
    invoked_function_arn: str = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{FUNCTION}"
    memory_limit_in_mb: str = "128"
    aws_request_id: str = field(default_factory=lambda: str(uuid4()))

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


def deliver(
    handler: Handler,
    bodies: Iterable[Any],
    max_receives: int = 3,
    *,
    batch_size: int = 10,
    raises: bool = True,
) -> Delivered:
    """Call *handler* with a message of each body until all are used up or dead, and return both.

    *bodies*: texts, or values that are sent as JSON. *max_receives*: the queue's ``maxReceiveCount``; a
    message that returns so often is dead. *batch_size*: messages in each delivery. The function behind the
    handler may raise, which returns its message, and so does the refusal of its ack. Once the queue is empty,
    the first such exception is raised, unless *raises* is False.
    """
    _check_handler(handler)
    most = whole(max_receives, "max_receives", 1, RECEIVES_MAX)
    size = whole(batch_size, "batch_size", 1, BATCH_MAX)
    if isinstance(bodies, str | bytes | Mapping):
        raise InvalidRequest("deliver takes a list of bodies: deliver(handler, [body])", field="bodies")
    waiting = [_message(body) for body in bodies]
    acked: list[str] = []
    with noted_failures() as failures:
        for receive in range(1, most + 1):
            returned = _returned(handler, waiting, receive, size, failures)
            acked += [each["body"] for each in waiting if each["messageId"] not in returned]
            waiting = [each for each in waiting if each["messageId"] in returned]
    if raises and failures:
        raise failures[0]
    return Delivered(tuple(acked), tuple(each["body"] for each in waiting))


def _check_handler(handler: Handler) -> None:
    """Raise InvalidRequest unless *handler* can be called with an event and a context."""
    synchronous(handler, "handler", OF_WORKERS)
    try:
        inspect.signature(handler, follow_wrapped=False).bind(None, None)
    except TypeError as error:
        raise InvalidRequest(f"{OF_HANDLERS}: {error}; {OF_FUNCTIONS}", field="handler") from None
    except ValueError:  # a function of C, whose signature is not known
        return


def _message(body: Any) -> Message:
    """Return a new message."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {
        "messageId": str(uuid4()),
        "body": text,
        "md5OfBody": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{QUEUE}",
        "awsRegion": REGION,
    }


def _received(message: Message, receive: int) -> dict[str, Any]:
    """Return the record of *message* at a receive, counted from 1."""
    at = str(time.time_ns() // 1_000_000)
    attributes = {
        "ApproximateReceiveCount": str(receive),
        "SentTimestamp": at,
        "SenderId": ACCOUNT,
        "ApproximateFirstReceiveTimestamp": at,
    }
    return {**message, "receiptHandle": f"{message['messageId']}:{receive}", "attributes": attributes}


def _returned(
    handler: Handler, waiting: Sequence[Message], receive: int, size: int, failures: list[BaseException]
) -> set[str]:
    """Deliver all that wait, *size* messages at a time; return the ids of those that return to the queue."""
    returned: set[str] = set()
    for first in range(0, len(waiting), size):
        returned |= _invoked(handler, waiting[first : first + size], receive, failures)
    return returned


def _invoked(
    handler: Handler, delivery: Sequence[Message], receive: int, failures: list[BaseException]
) -> set[str]:
    """Invoke *handler* once; return the ids of the messages that return to the queue."""
    everything = {message["messageId"] for message in delivery}
    event = {"Records": [_received(message, receive) for message in delivery]}
    try:
        return returned_ids(handler(event, LambdaContext()), everything)
    except Exception as error:  # an invocation that raises returns its whole delivery
        failures.append(error)
        return everything
