"""Q11: the parts of the sessions that know of each other cover all parts, without overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fanin.queue import Queue, QueueKey
from fanin.queue.maintenance import maintenance
from fanin.queue.memory import MemoryStore
from tests.simulating.violation import require
from tests.simulation_queue.loop import Process

Known = tuple[QueueKey, tuple[str, ...], int]
"""A queue, its sessions and its number of parts, as a worker knows them."""


def check_shares(queues: Iterable[tuple[Process, Queue]], store: MemoryStore) -> None:
    """Compare what the living workers own that know the same sessions and parts."""
    shares: dict[Known, dict[str, range]] = defaultdict(dict)
    for process, queue in queues:
        worker, config = queue.taker.worker, queue.context.cache.config
        if process.dead or worker is None or config is None or not worker.session.member.beats:
            continue
        known = tuple(sorted(maintenance.owners(worker.maintenance.watching.members)))
        _check_known(queue.key, known, store)
        own = maintenance.owned(config.parts, known, worker.session.id)
        shares[queue.key, known, config.parts][worker.session.id] = own
    for (_, known, parts), of in shares.items():
        taken = sorted(part for share in of.values() for part in share)
        require(len(set(taken)) == len(taken), "Q11", lambda of=of: f"some parts belong to two: {of}")
        if known and set(known) <= of.keys():
            require(taken == [*range(parts)], "Q11", lambda of=of: f"not all parts are in {of}")


def _check_known(queue: QueueKey, known: tuple[str, ...], store: MemoryStore) -> None:
    """Parts belong to sessions with a heartbeat, which look at them."""
    stored = store.sessions.get(queue, {})
    idle = [session for session in known if session in stored and not stored[session].beats]
    require(not idle, "Q11", lambda: f"{idle} own parts, and have no heartbeat")
