"""The client's calls for work queues."""

from __future__ import annotations

from datetime import UTC, datetime

from fanin.aws.jobs import JobSettings
from fanin.client.model import QueueDescription
from fanin.client.slot import TransportSlot
from fanin.client.transport import Transport
from fanin.queue import Options, Queue
from fanin.queue.creating import Ensured


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
        from fanin.client.queues import created  # noqa: PLC0415  # as with direct

        return created(name, parts, at, self._transport)

    def queue(self, name: str, at: JobSettings | None = None, options: Options | None = None) -> Queue:
        """Return the work queue *name*, on its table, with the credentials of this process.

        Its first use creates it. *at*: its table and tenant; default: the environment.
        This client acks the items of its jobs.
        """
        if self._slot.lent is not None:
            return self._slot.lent.queue(name, options)
        from fanin.client.jobs import queue_at  # noqa: PLC0415  # as with direct

        return queue_at(at, name, options, self._transport)


def description_of(name: str, done: Ensured) -> QueueDescription:
    """Return the queue *name* as its creation answers it."""
    config = done.config
    return QueueDescription(
        name=name,
        parts=config.before or config.parts,
        doorbell_url=config.doorbell or "",
        doorbell_arn=done.doorbell_arn,
        target=config.parts if config.before else None,
        phase=config.phase.value,
        since=None if config.since_us is None else datetime.fromtimestamp(config.since_us / 1e6, UTC),
    )
