"""Runs chunks in processes, until all are done or the time is over."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context

from tests.proof.work import Chunk, Done, Part

Result = tuple[Part, Chunk, Done]
CHUNKS_A_PROCESS = 50


def results(chunks: Iterable[tuple[Part, Chunk]], jobs: int, deadline: float) -> Iterator[Result]:
    """Yield each chunk when it is done. None begins after the *deadline*, a time of the monotonic clock."""
    waiting = iter(chunks)
    if jobs == 1:
        for part, chunk in waiting:
            if time.monotonic() >= deadline:
                return
            yield part, chunk, timed(chunk)
        return
    yield from _in_processes(waiting, jobs, deadline)


def timed(chunk: Chunk) -> Done:
    """Do a chunk, and note its CPU time."""
    began = time.process_time()
    done = chunk.work()
    done.cpu = done.cpu or time.process_time() - began
    return done


def _in_processes(waiting: Iterator[tuple[Part, Chunk]], jobs: int, deadline: float) -> Iterator[Result]:
    """Keep one chunk more under way than there are processes, so that none of them waits."""
    spawned = get_context("spawn")
    with ProcessPoolExecutor(jobs, spawned, max_tasks_per_child=CHUNKS_A_PROCESS) as processes:
        running: dict[Future[Done], tuple[Part, Chunk]] = {}
        while True:
            while len(running) <= jobs and time.monotonic() < deadline and (each := next(waiting, None)):
                running[processes.submit(timed, each[1])] = each
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                part, chunk = running.pop(future)
                yield part, chunk, future.result()
