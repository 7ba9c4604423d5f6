"""The client's calls for work queues."""

from __future__ import annotations

from fanin.arguments import instance, whole
from fanin.aws.settings.jobs import JobSettings
from fanin.client.model import QueueDescription
from fanin.client.transports.slot import TransportSlot
from fanin.client.transports.transport import Transport
from fanin.queue import Options, Queue
from fanin.queue.rules.keys import PARTS_MAX, checked_queue_name


class QueueCalls:
    """Creates work queues, and returns those that this process uses."""

    _transport: Transport
    _slot: TransportSlot

    def create_queue(
        self, name: str, *, parts: int | None = None, at: JobSettings | None = None
    ) -> QueueDescription:
        """Create the work queue *name*, unless it exists, and return it with its doorbell.

        *parts*: 1 to 256, default 8; more raise those of a queue that exists, fewer are a Conflict. *at*:
        needed by a direct client, as in queue.
        """
        from fanin.client.queues.creating import created  # noqa: PLC0415  # as with direct

        wanted = None if parts is None else whole(parts, "parts", 1, PARTS_MAX)
        return created(checked_queue_name(name), wanted, _settings(at), self._transport)

    def queue(self, name: str, at: JobSettings | None = None, options: Options | None = None) -> Queue:
        """Return the work queue *name*, on its table, with the credentials of this process.

        Its first use creates it. *at*: its table and tenant; default: the environment.
        This client acks the items of its jobs.
        """
        checked_queue_name(name), _settings(at)
        if options is not None:
            instance(options, Options, "options", "options")
        if self._slot.lent is not None:
            return self._slot.lent.queue(name, options)
        from fanin.client.queues.jobs import queue_at  # noqa: PLC0415  # as with direct

        return queue_at(at, name, options or Options(), self._transport)


def _settings(at: JobSettings | None) -> JobSettings | None:
    return None if at is None else instance(at, JobSettings, "at", "at")
