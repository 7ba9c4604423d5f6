"""Read units of the sweep of the work queues, by the number of jobs: ``python -m lab.requests.queue_reads``.

The sweep runs on a store that holds no rows and answers for so many jobs, and counts read request units as
DynamoDB does: the bytes of the rows that a request reads, in steps of 4 KB, half of it without consistency
("DynamoDB read and write operations" in the Amazon DynamoDB Developer Guide).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fanin.aws.dynamodb.rows import Item
from fanin.names import JOB_ATTRIBUTES
from fanin.queue import Effects, MemoryDoorbell, NewJob, QueueContext, QueueKey
from fanin.queue.administration.describing import describe
from fanin.queue.dynamodb import items
from fanin.queue.maintenance.visiting import visit
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import PartKey, job_key
from fanin.queue.rules.model import Entry, Job, JobState, Member, OutboxEntry

STEP_BYTES = 4096
MINUTES_A_MONTH = 60 * 24 * 30
DOLLARS_A_MILLION = 0.125
"""The price of a million read request units, on demand, in us-east-1."""
NOW = 1_772_366_400_000_000
QUEUE = QueueKey("111122223333", "thumbnails")


def bytes_of(item: Item) -> int:
    """Return the size of a row: the bytes of its names and values, of numbers at most."""
    return sum(len(name.encode()) + _bytes_of_value(value) for name, value in item.items())


def _bytes_of_value(value: Item) -> int:
    if "N" in value:
        return math.ceil(len(value["N"]) / 2) + 1
    return len(value["S"].encode()) if "S" in value else 1


def units(rows: int, row_bytes: int, *, consistent: bool = True) -> float:
    """Return the read units of a request that reads so many rows."""
    steps = max(1, math.ceil(rows * row_bytes / STEP_BYTES))
    return steps if consistent else steps / 2


def waiting_job(part: PartKey) -> Job:
    """Return a ready job like many others, in *part*."""
    job = lifecycle.new_job(NewJob("img-2026-0000017"), job_key(QUEUE, 1, "img"), "0" * 36, NOW, None)
    return replace(job, key=replace(job.key, part=part))


def index_bytes(job: Job) -> int:
    """Return the size of the row of *job* in the index of jobs."""
    shown = {"pk", "sk", "ix", *JOB_ATTRIBUTES}
    return bytes_of({name: value for name, value in items.job_item(job).items() if name in shown})


@dataclass
class Metered(MemoryStore):
    """A store of *waiting* ready jobs, evenly in *parts* parts, that counts the read units of its answers."""

    waiting: int = 0
    parts: int = 8
    read_units: float = 0.0
    job_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.job_bytes = index_bytes(waiting_job(PartKey(QUEUE, 0)))
        self.configs[QUEUE] = QueueConfig(self.parts)

    def _in(self, part: PartKey) -> int:
        return self.waiting // self.parts + (part.number < self.waiting % self.parts)

    def config(self, queue: QueueKey) -> QueueConfig | None:
        self.read_units += 1
        return super().config(queue)

    def members(self, queue: QueueKey) -> Sequence[Member]:
        self.read_units += 1
        return super().members(queue)

    def outbox(self, part: PartKey) -> Sequence[OutboxEntry]:
        self.read_units += 1
        return super().outbox(part)

    def first(self, part: PartKey, limit: int) -> Sequence[Entry]:
        rows = min(limit, self._in(part))
        self.read_units += units(rows, self.job_bytes)
        return [lifecycle.entry_of(waiting_job(part))] * rows

    def outstanding(self, part: PartKey, now: int) -> Sequence[Entry]:
        self.read_units += 1
        return super().outstanding(part, now)

    def count(self, part: PartKey, state: JobState, limit: int) -> int:
        rows = min(limit, self._in(part)) if state is JobState.READY else 0
        self.read_units += units(rows, self.job_bytes, consistent=False)
        return rows

    def count_dead(self, part: PartKey, limit: int) -> int:
        self.read_units += 0.5
        return super().count_dead(part, limit)


def visited(waiting: int, parts: int = 8, known_dead: int | None = None) -> float:
    """Return the read units of one visit to a queue with so many ready jobs."""
    store = Metered(waiting=waiting, parts=parts)
    each = Effects(now=lambda: NOW, each=lambda call, values: [call(value) for value in values])
    visit(QueueContext(store, MemoryDoorbell(), QUEUE, effects=each), known_dead=known_dead)
    return store.read_units


def swept(waiting: int, parts: int = 8) -> float:
    """Return the read units of a queue in a sweep, which counts its dead jobs every fifth time.

    The sweep reads when it visited the queue last, not consistently: as it begins, and before the visit.
    """
    known = visited(waiting, parts, known_dead=0)
    return known + (visited(waiting, parts) - known) / 5 + 2 * 0.5


def described(waiting: int, parts: int = 8) -> float:
    """Return the read units of the status of a queue with so many ready jobs, as a list of queues has it."""
    store = Metered(waiting=waiting, parts=parts)
    each = Effects(now=lambda: NOW, each=lambda call, values: [call(value) for value in values])
    describe(QueueContext(store, MemoryDoorbell(), QUEUE, effects=each))
    return store.read_units


def listed(queues: int) -> float:
    """Return the read units of the query that lists so many queues in the index."""
    row = items.config_item(QUEUE, QueueConfig(8))
    return units(
        queues, bytes_of({name: row[name] for name in ("pk", "sk", "listed", "parts")}), consistent=False
    )


def dollars(units_a_minute: float) -> float:
    """Return the price of a month."""
    return units_a_minute * MINUTES_A_MONTH * DOLLARS_A_MILLION / 1e6


ASLEEP_A_MINUTE = 1 / (60 * 24)
"""The visits of a sleeping queue a minute."""


def table() -> list[tuple[str, float, float]]:
    """Return, for each case, the read units a minute and the dollars a month."""
    cases = [
        ("1,000 sleeping queues", 1000 * visited(0) * ASLEEP_A_MINUTE + 0.5),
        ("1,000 busy queues of 20 jobs", 1000 * swept(20) + listed(1000)),
        *((f"one queue of {jobs:,} jobs", swept(jobs)) for jobs in (10**4, 10**6, 10**7)),
        ("one queue of 10,000,000 jobs in 256 parts", swept(10**7, 256)),
    ]
    return [(name, read, dollars(read)) for name, read in cases]


if __name__ == "__main__":
    print(f"{'':42} {'read units a minute':>20} {'$ a month':>10}")
    for name, read, paid in table():
        print(f"{name:42} {read:20,.1f} {paid:10,.2f}")
