"""Races over HTTP, close against the last ack and two last acks: each round must report one completion.

``make races`` runs 1,000 rounds of each with a jitter of 0 to 1 ms; ``ARGS="--rounds 50"`` runs fewer. It
prints how many completions were reported in how many rounds, and exits with 1 if a round failed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import urllib3

from fanin.local import LocalRun

Json = dict[str, Any]
RACERS = 2
TABLES_AT_ONCE = 3
JITTER_SECONDS = 0.001


class Api:
    """The five routes over HTTP; every POST has its own idempotency key."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.pool = urllib3.PoolManager(maxsize=16, retries=False, timeout=120)

    def post(self, path: str, body: Json) -> Json:
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex}
        answer = self.pool.request("POST", self.url + path, body=json.dumps(body), headers=headers)
        assert answer.status < 300, (path, answer.status, answer.data)
        found: Json = json.loads(answer.data)
        return found

    def status(self, batch: str) -> Json:
        found: Json = json.loads(self.pool.request("GET", f"{self.url}/v1/batches/{batch}").data)
        return found

    def is_complete(self, batch: str) -> bool:
        return bool(self.status(batch)["isComplete"])

    def opened(self, count: int) -> tuple[str, list[str]]:
        batch = self.post("/v1/batches", {})["batchId"]
        group = self.post(f"/v1/batches/{batch}/items", {"count": count})["groups"][0]
        return batch, [f"{batch}:{group['id']}:{index}" for index in range(count)]

    def close(self, batch: str) -> int:
        return int(self.post(f"/v1/batches/{batch}/close", {})["completedByYou"])

    def ack(self, *items: str) -> int:
        return len(self.post("/v1/acks", {"items": list(items)})["completions"])


def close_against_ack(api: Api) -> tuple[str, list[Callable[[], int]]]:
    batch, items = api.opened(1)
    return batch, [lambda: api.close(batch), lambda: api.ack(items[0])]


def ack_against_ack(api: Api) -> tuple[str, list[Callable[[], int]]]:
    """Return a race of the last two items, in one page or at the ends of several (of four items)."""
    count = random.choice([2, 9])
    batch, items = api.opened(count)
    api.close(batch)
    if count > 2:
        api.ack(*items[1:-1])
    return batch, [lambda: api.ack(items[0]), lambda: api.ack(items[-1])]


def play(
    api: Api, race: Callable[[Api], tuple[str, list[Callable[[], int]]]], racers: ThreadPoolExecutor
) -> str:
    """Play one round; return its result as text."""
    batch, moves = race(api)
    random.shuffle(moves)

    def late(move: Callable[[], int]) -> int:
        time.sleep(random.uniform(0, JITTER_SECONDS))
        return move()

    completions = sum(racers.map(late, moves))
    return f"{completions} completions, {'complete' if api.is_complete(batch) else 'INCOMPLETE'}"


def rounds(api: Api, race: Callable[..., Any], count: int) -> Counter[str]:
    """Play *count* rounds, a few at a time, each with two racers of its own."""

    def share(number: int) -> Counter[str]:
        with ThreadPoolExecutor(RACERS) as racers:
            return Counter(play(api, race, racers) for _ in range(number, count, TABLES_AT_ONCE))

    with ThreadPoolExecutor(TABLES_AT_ONCE) as tables:
        return sum(tables.map(share, range(TABLES_AT_ONCE)), Counter())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    count = parser.parse_args().rounds
    failed = 0
    with LocalRun.start(page_bits=4) as run:
        for race in (close_against_ack, ack_against_ack):
            started = time.monotonic()
            found = rounds(Api(run.url), race, count)
            failed += count - found["1 completions, complete"]
            print(f"{race.__name__}: {dict(found)} in {time.monotonic() - started:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
