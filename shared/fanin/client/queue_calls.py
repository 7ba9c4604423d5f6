"""The client's calls for work queues."""

from __future__ import annotations

from fanin.aws.jobs import JobSettings
from fanin.client.model import QueueDescription
from fanin.client.transport import Transport
from fanin.queue import Options, Queue


class QueueCalls:
    """Creates work queues, and returns those that this process uses."""

    _transport: Transport

    def create_queue(
        self, name: str, *, parts: int | None = None, at: JobSettings | None = None
    ) -> QueueDescription:
        """Create the work queue *name*, unless it exists, and return it with its doorbell.

        *parts*: 1 to 256, default 8; more raise those of a queue that exists, fewer are a Conflict. *at*:
        needed by a direct client, as in queue.
        """
        from fanin.client.queues import created  # noqa: PLC0415  # as with direct

        return created(name, parts, at, self._transport)

    def queue(self, name: str, at: JobSettings | None = None, options: Options | None = None) -> Queue:
        """Return the work queue *name*, on its table, with the credentials of this process.

        Its first use creates it. *at*: its table and tenant; default: the environment.
        This client acks the items of its jobs.
        """
        from fanin.client.jobs import queue_at  # noqa: PLC0415  # as with direct

        return queue_at(at, name, options, self._transport)
