"""Patches of slow parts of the emulator that have no setting; its results stay the same."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from typing import Any

from ministack.core import lambda_runtime, responses
from ministack.services import lambda_svc, sqs

from fanin.local.function_processes import function_log, invocation_limit, zip_cache
from fanin.local.function_processes.forking import forking

TEN = 10
"""Messages of one receive, and of a delivery from a FIFO queue."""
PAYLOAD_BYTES = 3_000_000
"""A delivery takes no further messages beyond it: half of what AWS allows for an invocation."""
STREAM_POLL_SECONDS = 0.2
"""The pause after a look at the streams that found nothing; Lambda looks four times a second."""
PROTOCOLS: dict[str, dict[str, str]] = {
    "cloudformation": {"protocol": "query"},
    "dynamodb": {"protocol": "json", "jsonVersion": "1.0"},
    "events": {"protocol": "json", "jsonVersion": "1.1"},
    "lambda": {"protocol": "rest-json"},
    "s3": {"protocol": "rest-xml"},
    "sqs": {"protocol": "json", "jsonVersion": "1.0"},
    "ssm": {"protocol": "json", "jsonVersion": "1.1"},
}
"""How the services of each run answer, from botocore's models of them."""
Queue = dict[str, Any]
Collect = Callable[[Queue, int, float], list[Any]]

log = logging.getLogger(__name__)


def apply() -> None:
    """Patch the emulator of this process."""
    # Else each worker unpacks and compiles the 35 MB of its function and layer.
    lambda_runtime.zipfile = zip_cache.sharing()
    # Else each worker writes the 12 MB of their zips.
    lambda_runtime.open = zip_cache.open_linked
    # Else each worker imports the same libraries for half a second.
    lambda_runtime.subprocess = forking()
    # Else it reads botocore's models of seven services, for the content types of its answers.
    responses._service_model = of_protocol(responses._service_model)
    # Else 40 callers start 40 workers.
    invocation_limit.apply()
    # The emulator waits up to 50 ms for log lines, and on a busy machine loses some of them.
    function_log.apply()
    sqs._collect_msgs = of_the_first_visible(sqs._collect_msgs, now=time.time)
    # Every receive searches the whole queue for messages beyond its retention: an hour for rings, else days.
    sqs._expire_retained = _nothing_is_old
    # Else a mapping with a batch size of 100 gets ten messages at once.
    sqs._receive_messages_for_esm = delivery
    # Else a function that reads a stream stops all queues meanwhile, and starts up to a second later.
    streams, lambda_svc._poll_dynamodb_streams = lambda_svc._poll_dynamodb_streams, lambda: False
    threading.Thread(target=look_on, args=(streams, threading.Event()), daemon=True).start()


def look_on(look: Callable[[], bool], stopped: threading.Event) -> None:
    """Call *look* until *stopped*: again at once if it found something, else after a pause."""
    pause = 0.0
    while not stopped.wait(pause):
        pause = 0.0 if _has_records(look) else STREAM_POLL_SECONDS


def _has_records(look: Callable[[], bool]) -> bool:
    try:
        return look()
    except Exception:  # the next look may succeed
        log.exception("the streams could not be read")
        return False


def of_the_first_visible(collect: Collect, now: Callable[[], float]) -> Collect:
    """Return *collect* limited to the first visible messages of a standard queue.

    Without it a receive reads the whole queue: 27 ms for 20,000 messages.
    """

    def collect_few(queue: Queue, limit: int, timeout: float) -> list[Any]:
        if queue["is_fifo"]:
            return collect(queue, limit, timeout)
        moment = now()
        visible = (each for each in queue["messages"] if each.get("visible_at", 0) <= moment)
        return collect({**queue, "messages": list(islice(visible, limit))}, limit, timeout)

    return collect_few


def delivery(url: str, most: int) -> list[Any]:
    """Return the messages of a delivery from the queue at *url*, up to *most*, as Lambda collects them.

    Unlike Lambda it does not wait for a batching window: while all functions of a mapping are busy, a batch
    gathers in the queue.
    """
    with sqs._queues_lock:
        queue = sqs._get_q(url)
        sqs._dlq_sweep(queue)
        limit = min(most, TEN) if queue["is_fifo"] else most
        seconds = int(queue["attributes"].get("VisibilityTimeout", "30"))
        return _collected(queue, limit, seconds)


def _collected(queue: Queue, limit: int, seconds: int) -> list[Any]:
    """Receive up to *limit* messages, ten at once, and hide them for *seconds*."""
    found: list[Any] = []
    while len(found) < limit and sum(len(each["body"]) for each in found) < PAYLOAD_BYTES:
        asked = min(TEN, limit - len(found))
        part = sqs._collect_msgs(queue, asked, seconds)
        found += part
        if len(part) < asked:
            break
    return found


def of_protocol(model: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return *model*, which reads the model of a service, with the known ``PROTOCOLS`` before it."""
    known = {name: SimpleNamespace(metadata=each) for name, each in PROTOCOLS.items()}
    return lambda service: known.get(service) or model(service)


def _nothing_is_old(_queue: Queue) -> None:
    """Expire no message."""
