"""The trackers that are compared, with the engine that each was run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from lab.peers.delivering import Delivering
from lab.peers.driving import Case, Site, run
from lab.peers.installing import BUILD, bullmq_folder, celery_python
from lab.peers.servers import dynamodb, redis_server
from lab.peers.sites.carlyle import carlyle
from lab.peers.sites.queues import BullFlow, CeleryChord
from lab.peers.sites.redis import RedisSite, RedisUsage
from lab.peers.sites.tables import FaninSite, RowsSite, TableSite

REDIS, TABLES, NOTHING = "Redis, memory", "DynamoDB, emulator", "tables in memory"
Open = Callable[[Case, Path, TextIO, Any], AbstractContextManager[Site]]
SERVERS: Mapping[str, Callable[[], AbstractContextManager[Any]]] = {
    REDIS: redis_server,
    TABLES: dynamodb,
    NOTHING: nullcontext,
}


@dataclass(frozen=True, slots=True)
class Peer:
    """A tracker: its *engine*, the name of its *requests*, and how its site is opened on a server."""

    name: str
    engine: str
    requests: str
    open: Open


def measure(peer: Peer, cases: Iterable[Case]) -> Iterator[dict[str, Any]]:
    """Run each of *cases* on one server, and yield what was found."""
    BUILD.mkdir(parents=True, exist_ok=True)
    log = BUILD / "run.log"
    with SERVERS[peer.engine]() as server, (BUILD / "workers.log").open("w") as errors:
        for case in cases:
            with peer.open(case, log, errors, server) as site:
                yield {"peer": peer.name, **run(site, case, log)}


def _redis(kind: str) -> Open:
    def opened(case: Case, log: Path, errors: TextIO, port: int) -> AbstractContextManager[Site]:
        queue = Delivering(kind, case, log, errors, config={"redis": port})
        return nullcontext(RedisSite(queue, RedisUsage(port)))

    return opened


def _queue(site: type[CeleryChord | BullFlow], program: Callable[[], Path]) -> Open:
    def opened(case: Case, log: Path, errors: TextIO, port: int) -> AbstractContextManager[Site]:
        return nullcontext(site(program(), case, log, errors, RedisUsage(port), port))

    return opened


def _tables(site: Callable[[Delivering, str], Site], kind: str, size: int = 1) -> Open:
    def opened(case: Case, log: Path, errors: TextIO, endpoint: str) -> AbstractContextManager[Site]:
        return nullcontext(site(Delivering(kind, case, log, errors, size), endpoint))

    return opened


def _carlyle(case: Case, log: Path, errors: TextIO, _: None) -> AbstractContextManager[Site]:
    return carlyle(Delivering("carlyle", case, log, errors))


PEERS: Mapping[str, Peer] = {
    "celery": Peer("Celery chord", REDIS, "commands", _queue(CeleryChord, celery_python)),
    "bullmq": Peer("BullMQ flow", REDIS, "commands", _queue(BullFlow, bullmq_folder)),
    "counter": Peer("counter in Redis", REDIS, "commands", _redis("redis-counter")),
    "set": Peer("set in Redis", REDIS, "commands", _redis("redis-set")),
    "rows": Peer("row for each item", TABLES, "requests", _tables(RowsSite, "table-rows")),
    "table": Peer("counter in DynamoDB", TABLES, "requests", _tables(TableSite, "table-counter")),
    "carlyle": Peer("Carlyle's statements", NOTHING, "statements", _carlyle),
    "fanin": Peer("fanin, singly", TABLES, "requests", _tables(FaninSite, "fanin")),
    "tens": Peer("fanin, in tens", TABLES, "requests", _tables(FaninSite, "fanin", 10)),
}
