"""The client's calls for work queues."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from fanin.arguments import instance
from fanin.client.http_bodies import queue_documents as documents
from fanin.client.queues.over_http import HttpQueue, rows
from fanin.client.queues.queue import NO_WORKER, Queue
from fanin.client.queues.queue_model import QueueStatus
from fanin.client.transports.slot import TransportSlot
from fanin.client.transports.transport import Transport
from fanin.errors import InvalidRequest
from fanin.queue import Options
from fanin.queue.rules.keys import checked_queue_name
from fanin.settings.jobs import JobSettings


class QueueCalls:
    """Lists work queues, and returns one to use."""

    _transport: Transport
    _slot: TransportSlot

    def queues(self) -> Iterator[QueueStatus]:
        """Yield the tenant's work queues in the order of their names, over HTTP."""
        return rows(self._transport, "/v1/queues", documents.page_of_queues)

    def queue(self, name: str, at: JobSettings | None = None, options: Options | None = None) -> Queue:
        """Return the work queue *name*: over HTTP without more, but for workers.

        A worker, and any use by a direct client, has the table and the tenant *at*, by default those of the
        environment, and the credentials of this process. *options*: of a worker. The first add, take or
        ``ensure`` creates the queue. This client acks the items of its jobs. Raises InvalidRequest for
        *options* where no worker can be.
        """
        checked_queue_name(name), _settings(at)
        if options is not None:
            instance(options, Options, "options", "options")
        if self._slot.lent is not None:
            return self._slot.lent.queue(name, options)
        if at is None and not os.environ.get("FANIN_QUEUE_TABLE") and self._transport.has_api:
            if options is not None:
                raise InvalidRequest(NO_WORKER.format(name), field="options")
            return Queue(name, lambda: HttpQueue(self._transport, name), again=partial(self.queue, name))
        from fanin.client.queues.jobs import queue_at  # noqa: PLC0415  # as with direct

        settings, of_worker = at or JobSettings.from_env(), options or Options()
        again = partial(self.queue, name, settings, of_worker)
        return queue_at(settings, name, of_worker, self._transport, again)


def _settings(at: JobSettings | None) -> JobSettings | None:
    return None if at is None else instance(at, JobSettings, "at", "at")
