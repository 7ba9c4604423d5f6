"""The quotas and their limits, and the keys and values of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fanin.errors import InvalidRequest

SECOND = 1_000_000
"""The times of this room are whole microseconds since 1970."""


class Quota(StrEnum):
    """What a tenant may use: live batches and work queues at once; each second, adds of items, tasks, jobs,
    and read units.
    """

    OPEN_BATCHES = "openBatches"
    ADDS = "adds"
    TASKS = "tasks"
    JOBS = "jobs"
    QUEUES = "queues"
    READS = "reads"


@dataclass(frozen=True, slots=True)
class BucketKey:
    """One of the rows in which a tenant's use of a rate is kept."""

    tenant: str
    quota: Quota
    shard: int


@dataclass(frozen=True, slots=True)
class Spent:
    """The time at which a bucket is full again, as it is stored, and whether this write changed it."""

    full_at: int
    applied: bool


@dataclass(frozen=True, slots=True)
class PermitKey:
    """One of the permits of a tenant, by its number: there are as many as it may have live batches."""

    tenant: str
    number: int


@dataclass(frozen=True, slots=True)
class Permit:
    """The batch that took a permit, and when."""

    batch_id: str
    taken_at: int


def limits_of(given: Mapping[str, int]) -> Mapping[Quota, int]:
    """Return the limits by quota. Raises InvalidRequest for an unknown name."""
    try:
        return {Quota(name): limit for name, limit in given.items()}
    except ValueError as error:
        raise InvalidRequest(f"quotas: {error}; there are {', '.join(Quota)}", field="quotas") from error
