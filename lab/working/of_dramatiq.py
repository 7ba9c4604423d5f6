"""dramatiq's Redis worker on one core; run by the Python of an environment with ``dramatiq[redis]``.

``of_dramatiq.py MESSAGES`` sends the messages, runs the worker, and prints its rates.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker

PORT = int(os.environ.get("REDIS_PORT", "6399"))
dramatiq.set_broker(RedisBroker(port=PORT))


@dramatiq.actor  # type: ignore[untyped-decorator]
def work(body: str) -> None:
    """Do small work."""
    body.strip()


def main(messages: int) -> None:
    command = ["redis-server", "--port", str(PORT), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        client = redis.Redis(port=PORT)
        _wait_for(lambda: _answers(client))
        for at in range(messages):
            work.send(f"{at:073}")
        seconds, processor = _worked(client, messages)
    finally:
        server.kill()
        server.wait()
    print(json.dumps({"rate": messages / seconds, "by_processor": messages / processor}))


def _worked(client: redis.Redis, messages: int) -> tuple[float, float]:
    """Run the worker until the queue is empty; return the seconds, and those of its processor time."""
    command = ["taskset", "-c", "0", sys.executable, "-m", "dramatiq", Path(__file__).stem]
    command += ["--processes", "1", "--threads", "8"]
    folder = Path(__file__).parent
    worker = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    _wait_for(lambda: int(client.llen("dramatiq:default")) < messages)
    begun = time.monotonic()
    _wait_for(lambda: not client.hlen("dramatiq:default.msgs"))
    seconds = time.monotonic() - begun
    worker.terminate()
    worker.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, used.ru_utime + used.ru_stime


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def _wait_for(look: Callable[[], bool]) -> None:
    while not look():
        time.sleep(0.01)


if __name__ == "__main__":
    main(int(sys.argv[1]))
