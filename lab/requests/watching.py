"""Read units of the workers of one queue that watch each other's sessions, in virtual time.

Runs the production code of the watch on the store in memory, counts what each request reads by DynamoDB's
rules, and compares it with reads of all sessions twice a second: ``python -m lab.requests.watching``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from fanin.aws.dynamodb.rows import Item
from fanin.cost.rules import keyed_read_units, read_units
from fanin.queue import Effects, MemoryDoorbell, QueueContext, QueueKey
from fanin.queue.dynamodb import items
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.model import Member
from fanin.queue.sessions import session as sessions

QUEUE = QueueKey("123456789012", "thumbnails")
WORKERS = (1, 10, 24, 25, 100, 1000)
SECONDS = 240.0
STEP = 0.5
START = 1_772_366_400_000_000
DOLLARS_A_UNIT = 0.125 / 1e6
MONTH = 30 * 86_400


@dataclass
class Counted(MemoryStore):
    """Counts the *units* that the reads of sessions and of the config take."""

    units: float = 0.0

    def members(self, queue: QueueKey) -> Sequence[Member]:
        found = self._stored(queue, None)
        self.units += read_units(_rows(found), consistent=True)
        return found

    def peek(self, queue: QueueKey, ids: Sequence[str] | None) -> Sequence[Member]:
        found = self._stored(queue, ids)
        units = read_units if ids is None else keyed_read_units
        self.units += units(_rows(found), consistent=False)
        return found

    def peek_config(self, queue: QueueKey) -> tuple[int, int]:
        self.units += 0.5
        return super().peek_config(queue)

    def _stored(self, queue: QueueKey, ids: Sequence[str] | None) -> list[Member]:
        rows = self._members(queue)
        return list(rows.values()) if ids is None else [rows[each] for each in ids if each in rows]


@dataclass
class Time:
    """The virtual time, in seconds."""

    at: float = 0.0
    random: Random = field(default_factory=lambda: Random(1))

    def effects(self) -> Effects:
        return Effects(
            now=lambda: START + round(self.at * 1e6),
            monotonic=lambda: self.at,
            new_id=lambda: str(UUID(int=self.random.getrandbits(128))),
            pause=lambda _: None,
            each=lambda call, values: [call(value) for value in values],
        )


def units_a_second(workers: int, seconds: float = SECONDS) -> tuple[float, float]:
    """Return the read units a second of so many idle workers, and those of two reads of all a second each."""
    time, store = Time(), Counted()
    context = QueueContext(store, MemoryDoorbell(), QUEUE, effects=time.effects())
    entered = [sessions.enter(context, None) for _ in range(workers)]
    watches = [Maintenance(context, each).watching for each in entered]
    for watch in watches:
        watch.read_all()
    store.units = 0.0
    for step in range(round(seconds / STEP)):
        time.at += STEP
        for session in entered if step % 2 else ():
            session.beat()
        for watch in watches:
            watch.look()
    before = 2 * workers * read_units(_rows(store.sessions[QUEUE].values()), consistent=True)
    return store.units / seconds, before


def _rows(members: Iterable[Member]) -> list[Item]:
    return [items.member_item(QUEUE, member) for member in members]


def main() -> None:
    print("workers  read units/s  each   $/month | all read twice a second: units/s  $/month")
    for workers in WORKERS:
        now, before = units_a_second(workers)
        cost, cost_before = (units * MONTH * DOLLARS_A_UNIT for units in (now, before))
        figures = f"{workers:7,}  {now:12,.1f}  {now / workers:4.2f}  {cost:8,.0f}"
        print(f"{figures} | {before:34,.1f}  {cost_before:7,.0f}")


if __name__ == "__main__":
    main()
