"""Adds jobs for packages of some sections; the job's consumer writes the index row and acks the item."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from examples.catalog.functions.index import Entry
from examples.catalog.functions.package import Package
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from fanin import Job, NewJob

QUEUE = "demo"
_JOBS = UUID("5a3f0c1e-0d0f-5b8a-9a54-1f9b0c2d7e61")
logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Queueing:
    """Adds a job for each package of *sections*."""

    add_all: Callable[[Sequence[NewJob]], object]
    sections: frozenset[str]

    def takes(self, entry: Entry) -> bool:
        """Return whether the end of a job acks the package's item, not the worker."""
        return entry.package.section in self.sections

    def hand_over(self, entries: Sequence[Entry]) -> bool:
        """Add the packages' jobs; return False if some may not be stored: their messages are then retried.

        A job that is rejected is the item's own, of an earlier delivery.
        """
        try:
            self.add_all([job_of(entry) for entry in entries])
        except StoreUnavailable as error:
            logger.warning("jobs may not be stored; their messages are retried: %s", error)
            return False
        return True


def job_of(entry: Entry) -> NewJob:
    """Return the job of a package, equal for every delivery of the same item."""
    from fanin import NewJob  # noqa: PLC0415  # a worker without queued sections starts faster

    facts = {"package": asdict(entry.package), "sentAt": entry.sent_at}
    job_id = str(uuid5(_JOBS, entry.item_id))
    return NewJob(entry.item_id, facts, item_id=entry.item_id, id=job_id)


def entry_of(job: Job, processed_at: int) -> Entry:
    """Return the package of a job that :func:`job_of` made. Raises ValueError for another payload."""
    try:
        facts = job.payload
        package = dict(facts["package"])
        depends = tuple(package.pop("depends"))
        return Entry(str(job.item_id), Package(**package, depends=depends), facts["sentAt"], processed_at)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"the payload of job {job.key!r} is no package") from error
