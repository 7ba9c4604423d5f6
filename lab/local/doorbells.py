"""Measures the doorbell of a worker while jobs wait in another queue, on the local run.

``python -m lab.local.doorbells`` adds 0, 200 and 10,000 jobs to a queue without workers. Each time it
counts the receives of an idle take of another queue, times takes that wait for a job there, and the return of
a failed job with a ``retry_delay`` of 2 s. It exits with 1 if a goal is missed; ``--waiting`` changes the
numbers of jobs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from fanin.local import LocalRun
from fanin.queue import Queue
from fanin.queue.sqs import SqsDoorbell
from lab.local.jobs import Site, consumer_of, wake_seconds

WAITING = (0, 200, 10_000)
JOBS_A_REQUEST = 100
IDLE_SECONDS = 10.0
WAKES = 9
WAKE_SECONDS = 0.5
RECEIVES_A_SECOND = 2.0
RETRY_SECONDS = 2.0
RETRY_MOST_SECONDS = 3.5
"""SQS delays in whole seconds, and the sweep of a worker promotes what is due."""


@dataclass(frozen=True)
class Measured:
    """The doorbell of a worker while *waiting* jobs are in another queue.

    *retried*: seconds until a failed job was taken again. *dead*: messages in dead-letter queues.
    """

    waiting: int
    wakes: list[float]
    receives_a_second: float
    retried: float
    dead: int

    @property
    def is_good(self) -> bool:
        is_quiet = self.receives_a_second <= RECEIVES_A_SECOND and self.dead == 0
        is_soon = statistics.median(self.wakes) <= WAKE_SECONDS and self.retried <= RETRY_MOST_SECONDS
        return is_quiet and is_soon

    def __str__(self) -> str:
        return (
            f"{self.waiting:6} jobs elsewhere: woken in {statistics.median(self.wakes):.2f} s (median),"
            f" {max(self.wakes):.2f} s (most); {self.receives_a_second:.1f} receives a second when idle;"
            f" a retry_delay of {RETRY_SECONDS:.0f} s took {self.retried:.1f} s;"
            f" {self.dead} dead-letter messages"
        )


def beside(run: LocalRun, waiting: int) -> Measured:
    """Add *waiting* jobs to one queue, and measure a worker of another."""
    other, own = Site(run, f"waiting-{waiting}"), Site(run, f"beside-{waiting}")
    with ThreadPoolExecutor(2) as producers:
        keys = [f"job-{number}" for number in range(waiting)]
        requests = [keys[first : first + JOBS_A_REQUEST] for first in range(0, waiting, JOBS_A_REQUEST)]
        list(producers.map(other.add, requests))
    with consumer_of(own, duties=True) as queue, ThreadPoolExecutor(1) as producer:
        receives = _receives_of_an_idle_take(queue) / IDLE_SECONDS
        wakes = [wake_seconds(own, queue, producer, f"wake-{number}") for number in range(WAKES)]
        return Measured(waiting, wakes, receives, _retry_seconds(own, queue), _in_dead_letter_queues(run))


def _receives_of_an_idle_take(queue: Queue) -> int:
    assert isinstance(queue.context.doorbell, SqsDoorbell)
    asked: list[Any] = []
    queue.context.doorbell.client.meta.events.register(
        "provide-client-params.sqs.ReceiveMessage", lambda params, **_: asked.append(params)
    )
    with queue.take(1, wait=IDLE_SECONDS):
        return len(asked)


def _retry_seconds(site: Site, queue: Queue) -> float:
    """Return the seconds from the end of a failed scope to the next take of its job."""
    queue.context = replace(queue.context, options=replace(queue.context.options, retry_delay=RETRY_SECONDS))
    site.add(["fails"])
    with suppress(ZeroDivisionError), queue.take(1, wait=60.0):
        raise ZeroDivisionError
    failed_at = time.monotonic()
    with queue.take(1, wait=60.0) as jobs:
        assert [job.name for job in jobs] == ["fails"]
        return time.monotonic() - failed_at


def _in_dead_letter_queues(run: LocalRun) -> int:
    sqs = run.client("sqs")
    urls = [url for url in sqs.list_queues().get("QueueUrls", []) if "DeadLetters" in url]
    name = "ApproximateNumberOfMessages"
    found = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"] for url in urls]
    return sum(int(attributes[name]) for attributes in found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--waiting", type=int, nargs="+", default=WAITING)
    given = parser.parse_args(arguments)
    with LocalRun.start(progress=lambda step: print(step, file=sys.stderr)) as run:
        measured = []
        for waiting in given.waiting:
            measured.append(beside(run, waiting))
            print(measured[-1], flush=True)
    return 0 if all(each.is_good for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
