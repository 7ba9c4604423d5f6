"""Acks by coroutines: on the event loop, beside the same calls in threads, alternately in one program.

``python -m lab.working.coroutines`` prints the seconds, and those of the processor, of 200 acks one after
another and of 2,000 in flight, against an API of canned answers after 20 ms, on another core.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median
from unittest.mock import patch

from fanin import AsyncFanin
from fanin.client.aio import calls
from lab.working.canned import BATCH, GROUP

LATENCY_MS = 20
IDS = [f"{BATCH}:{GROUP}:{at}" for at in range(2_000)]


Seconds = tuple[float, float]
"""On the clock, and of the processor."""


async def acked(url: str, in_flight: int, count: int) -> Seconds:
    """Return the seconds in which *count* items are acked one by one, so many at a time."""
    client = AsyncFanin(url)
    await client.ack(IDS[:1])
    turns = asyncio.Semaphore(in_flight)

    async def ack(item: str) -> None:
        async with turns:
            await client.ack([item])

    clock, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(ack, IDS[:count]))
    return time.perf_counter() - clock, time.process_time() - processor


def in_threads(url: str, in_flight: int, count: int) -> Seconds:
    """Return the seconds without the extra ``fanin[async]``."""
    with patch.object(calls, "exchange_of", lambda _: None):
        return asyncio.run(acked(url, in_flight, count))


def on_loop(url: str, in_flight: int, count: int) -> Seconds:
    return asyncio.run(acked(url, in_flight, count))


def measured(url: str, in_flight: int, count: int, rounds: int) -> str:
    """Return a line of the medians of both ways."""
    found = [(in_threads(url, in_flight, count), on_loop(url, in_flight, count)) for _ in range(rounds)]
    threads, loop = (
        [median(way) for way in zip(*seconds, strict=True)] for seconds in zip(*found, strict=True)
    )
    shown = [
        f"{one:.2f} s and {other:.2f} s, {one / other:.1f}x" for one, other in zip(threads, loop, strict=True)
    ]
    return f"{count:,} acks, {in_flight:,} in flight, threads and loop: {shown[0]}; processor {shown[1]}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the seconds of both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, default=LATENCY_MS)
    given = parser.parse_args(arguments)
    command = [sys.executable, "-m", "lab.working.canned", "1", str(given.latency)]
    site = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert site.stdout is not None
        url = f"http://127.0.0.1:{site.stdout.readline().strip()}"
        print(measured(url, 1, 200, given.rounds))
        print(measured(url, len(IDS), len(IDS), given.rounds))
    finally:
        site.kill()
        site.wait()


if __name__ == "__main__":
    main()
