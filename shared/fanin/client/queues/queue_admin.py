"""The client's calls that administer work queues, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from fanin.arguments import flag, listed, one_of, text
from fanin.client.queues.queue_model import (
    DeletedJobs,
    QueueJob,
    QueuePage,
    QueueSession,
    QueueStatus,
    RevivedJobs,
)
from fanin.client.transports.transport import Transport
from fanin.client.wire import queue_documents as documents
from fanin.client.wire.paging import pages
from fanin.queue.rules.keys import checked_queue_name

T = TypeVar("T")
NAMED_A_REQUEST = 100
"""The keys, and the dead ids, of one request."""
JOB_STATES = ("queued", "inProgress", "delayed", "dead")


class QueueAdministration:
    """Lists, describes, pauses and removes work queues, and revives and deletes their jobs.

    Every call can be repeated. Raises NotFound for a queue that does not exist.
    """

    _transport: Transport

    def queues(self) -> Iterator[QueueStatus]:
        """Yield the tenant's work queues in the order of their names, one request for each page."""
        return self._rows("/v1/queues", documents.page_of_queues)

    def queue_status(self, name: str) -> QueueStatus:
        """Return a work queue with the number of its jobs."""
        return self._transport.administer("GET", _path(name), {}, documents.status_of)

    def queue_sessions(self, name: str) -> Iterator[QueueSession]:
        """Yield the sessions of a work queue in the order of their ids."""
        return self._rows(_path(name, "/sessions"), documents.page_of_sessions)

    def queue_jobs(self, name: str, state: str = "queued") -> Iterator[QueueJob]:
        """Yield the jobs of a work queue in a state: ``queued``, ``inProgress``, ``delayed`` or ``dead``."""
        one_of(state, JOB_STATES, "state")
        return self._rows(_path(name, "/jobs"), documents.page_of_jobs, state=state)

    def revive_jobs(self, name: str, dead_ids: Iterable[str]) -> RevivedJobs:
        """Return dead jobs, by their ``dead_id``, to their queue; 100 in each request."""
        revived = RevivedJobs(0, {})
        for some in _hundreds(dead_ids, "dead_ids"):
            revived += self._revive(name, {"deadIds": some})
        return revived

    def revive_all_jobs(self, name: str) -> RevivedJobs:
        """Return all dead jobs to their queue, 100 in each request."""
        revived = self._revive(name, {"all": True})
        while revived.cursor is not None:
            revived += self._revive(name, {"all": True, "cursor": revived.cursor})
        return revived

    def delete_jobs(
        self, name: str, keys: Iterable[str] = (), *, dead_ids: Iterable[str] = ()
    ) -> DeletedJobs:
        """Delete queued and delayed jobs by their keys, and dead ones by their ``dead_id``.

        The items of queued and delayed jobs fail; 100 jobs of each kind in a request.
        """
        deleted = DeletedJobs({}, {})
        requests = [{"keys": some} for some in _hundreds(keys, "keys")]
        requests += [{"deadIds": some} for some in _hundreds(dead_ids, "dead_ids")]
        for body in requests:
            deleted += self._post(name, "/jobs/delete", body, documents.deleted_of)
        return deleted

    def pause_queue(self, name: str) -> None:
        """Pause a work queue: it takes adds and acks, and within a second no job of it is claimed."""
        self._post(name, "/pause", {}, documents.paused_of)

    def resume_queue(self, name: str) -> None:
        """Resume a work queue that was paused."""
        self._post(name, "/resume", {}, documents.paused_of)

    def remove_queue(self, name: str, *, force: bool = False) -> None:
        """Request the removal of a work queue. Raises Conflict for one with live jobs unless *force*."""
        path = f"{_path(name)}?force={'true' if flag(force, 'force') else 'false'}"
        self._transport.administer("DELETE", path, {}, documents.removing_of)

    def _revive(self, name: str, body: dict[str, Any]) -> RevivedJobs:
        return self._post(name, "/dead/revive", body, documents.revived_of)

    def _post(self, name: str, action: str, body: dict[str, Any], reader: Callable[[Any], T]) -> T:
        return self._transport.administer("POST", _path(name, action), body, reader)

    def _rows(self, path: str, reader: Callable[[Any], QueuePage], **query: str) -> Iterator[Any]:
        """Yield the rows of all pages of a list."""

        def page(cursor: str | None) -> QueuePage:
            asked = query if cursor is None else query | {"cursor": cursor}
            return self._transport.administer("GET", path, asked, reader)

        return (row for each in pages(page) for row in each.rows)


def _path(name: str, action: str = "") -> str:
    return f"/v1/queues/{checked_queue_name(name)}{action}"


def _hundreds(texts: Iterable[str], name: str) -> list[list[str]]:
    """Return *texts* by the requests that send them."""
    given = listed(texts, name, lambda each: text(each, f"one of {name}", name))
    return [given[i : i + NAMED_A_REQUEST] for i in range(0, len(given), NAMED_A_REQUEST)]
