"""The calls about one work queue, over the API: they need neither its table nor AWS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

from fanin.client.http_bodies import queue_documents as documents
from fanin.client.http_bodies.documents import queue_of
from fanin.client.http_bodies.paging import pages
from fanin.client.model import QueueDescription
from fanin.client.queues.handing_queue import handing
from fanin.client.queues.queue_model import (
    DeletedJobs,
    Job,
    QueuePage,
    QueueSession,
    QueueStatus,
    RejectedJob,
    RevivedJobs,
)
from fanin.client.transports.transport import Transport
from fanin.queue import NewJob, OnBusy
from fanin.queue.rules.keys import checked_queue_name
from fanin.types import ListedStateText

T = TypeVar("T")
JOBS_A_REQUEST = 100
"""The jobs, the keys, and the dead ids, of one request."""
BYTES_A_REQUEST = 4_000_000
"""Bytes of the jobs of one request: a request to Lambda has 6 MB."""


@dataclass(frozen=True, slots=True)
class HttpQueue:
    """The queue *name* of the tenant whose requests *transport* sends. Every call can be repeated."""

    transport: Transport
    name: str

    def add_all(self, jobs: Sequence[NewJob], on_busy: OnBusy) -> tuple[RejectedJob, ...]:
        def add(some: Sequence[NewJob]) -> tuple[RejectedJob, ...]:
            requests = _requests([documents.job_body(job) for job in some])
            return tuple(each for request in requests for each in self._add(request, on_busy))

        return handing(jobs, add)

    def ensure(self, parts: int | None, metrics: bool | None) -> QueueDescription:
        given = {"parts": parts, "metrics": metrics}
        body = {name: value for name, value in given.items() if value is not None}
        return self.transport.administer("PUT", self._path(), body, queue_of)

    def status(self) -> QueueStatus:
        return self.transport.administer("GET", self._path(), {}, documents.status_of)

    def sessions(self) -> Iterator[QueueSession]:
        return rows(self.transport, self._path("/sessions"), documents.page_of_sessions)

    def jobs(self, state: ListedStateText) -> Iterator[Job]:
        return rows(self.transport, self._path("/jobs"), documents.page_of_jobs, state=state)

    def revive(self, dead_ids: Sequence[str]) -> RevivedJobs:
        revived = RevivedJobs(0, {})
        for some in _hundreds(dead_ids):
            revived += self._revive({"deadIds": some})
        return revived

    def revive_all(self) -> RevivedJobs:
        revived = self._revive({"all": True})
        while revived.cursor is not None:
            revived += self._revive({"all": True, "cursor": revived.cursor})
        return revived

    def delete(self, keys: Sequence[str], dead_ids: Sequence[str]) -> DeletedJobs:
        deleted = DeletedJobs({}, {})
        requests = [{"keys": some} for some in _hundreds(keys)]
        requests += [{"deadIds": some} for some in _hundreds(dead_ids)]
        for body in requests:
            deleted += self._post("/jobs/delete", body, documents.deleted_jobs_of)
        return deleted

    def pause(self) -> None:
        self._post("/pause", {}, documents.paused_of)

    def resume(self) -> None:
        self._post("/resume", {}, documents.paused_of)

    def remove(self, force: bool) -> None:
        path = f"{self._path()}?force={'true' if force else 'false'}"
        self.transport.administer("DELETE", path, {}, documents.removing_of)

    def _add(self, bodies: Sequence[Mapping[str, Any]], on_busy: OnBusy) -> Sequence[RejectedJob]:
        """Add the jobs of one request, whose own key makes its retries one add."""
        body = {"jobs": bodies, "onBusy": on_busy.value}
        return self._post("/jobs", body, documents.rejected_of, uuid4().hex)

    def _revive(self, body: Mapping[str, Any]) -> RevivedJobs:
        return self._post("/dead/revive", body, documents.revived_of)

    def _post(
        self, action: str, body: Mapping[str, Any], reader: Callable[[Any], T], key: str | None = None
    ) -> T:
        return self.transport.administer("POST", self._path(action), body, reader, key)

    def _path(self, action: str = "") -> str:
        return f"/v1/queues/{checked_queue_name(self.name)}{action}"


def rows(transport: Transport, path: str, reader: Callable[[Any], QueuePage], **query: str) -> Iterator[Any]:
    """Yield the rows of all pages of a list."""

    def page(cursor: str | None) -> QueuePage:
        asked = query if cursor is None else query | {"cursor": cursor}
        return transport.administer("GET", path, asked, reader)

    return (row for each in pages(page) for row in each.rows)


def _requests(bodies: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield *bodies* by the requests that send them."""
    some: list[Mapping[str, Any]] = []
    size = 0
    for body in bodies:
        own = len(json.dumps(body))
        if some and (len(some) == JOBS_A_REQUEST or size + own > BYTES_A_REQUEST):
            yield some
            some, size = [], 0
        some.append(body)
        size += own
    if some:
        yield some


def _hundreds(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[i : i + JOBS_A_REQUEST] for i in range(0, len(texts), JOBS_A_REQUEST)]
