"""A Lambda consumer of chunks: works on the items of a message one by one, and acks those that are done.

One request acks a delivery, in ranges. A message with items that are left returns to the queue. From its
second receive on only those run, and each of them is acked before the next one starts: an item that ends the
process does not take its neighbours along.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, Self

from fanin.client.consuming.chunks import Chunk, ChunkItem, chunk_of
from fanin.client.consuming.consumer import Consumer, Handler, belonging_to, handler_of, seconds_left
from fanin.client.consuming.ordering import in_turn, is_in_order
from fanin.client.consuming.settling import RETURNS, Settled, Tally, Worked
from fanin.client.consuming.skipping import Looks
from fanin.client.consuming.steps import Step, Steps
from fanin.client.tracing import note_items
from fanin.errors import InvalidRequest, NewerSchema, NotFound, StoreUnavailable
from fanin.isolating import Record, receives
from fanin.tracker import Ack, Verdict
from fanin.types import Returned
from fanin.user_functions import UNDER_ACKS, synchronous

logger = logging.getLogger("fanin")

HandleItem = Callable[[ChunkItem], Returned]
"""The user's function for one item of a chunk."""


@dataclass(slots=True)
class Part:
    """What was done of a chunk and is not acked yet: *acks* has one for each item.

    *returns*: whether the message returns to the queue, because an item is left.
    """

    acks: list[Ack] = field(default_factory=list)
    returns: bool = False

    def worked(self, chunk: Chunk) -> Worked:
        """Return the acks of the part, a range for neighbours with the same outcome and reason."""
        return Worked(chunk.record, _ranges(sorted(self.acks, key=attrgetter("first"))), self.returns)


@dataclass(frozen=True, slots=True)
class EachConsumer(Consumer):
    """Settles deliveries of chunks by *work*, which is called for each item.

    *fail_after*: from this receive of a message on, an exception fails its item. *context*: Lambda's, of the
    delivery that is settled.
    """

    work: HandleItem = field(kw_only=True)
    context: Any = None

    def __post_init__(self) -> None:
        if not self.in_tasks:
            synchronous(self.work, "work", UNDER_ACKS)

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Process a delivery, ack the items whose work is done, and return the result."""
        return Consumer.settle(self.within(context), event, context)

    def within(self, context: Any) -> Self:
        """Return the consumer with the *context*, which reports the time left to a chunk."""
        return replace(self, context=context)

    @property
    def _works(self) -> bool:
        return True

    def _worked(self, record: Record, tally: Tally, looks: Looks) -> Steps[Worked]:
        """Work on the items of *record* that are left, and return the acks that are not sent yet."""
        chunk = self._chunk(record)
        if chunk is None:
            return Worked(record, returns=True)
        note_items(chunk.ack)
        stopped = yield from self._not_due(record, chunk.ack, tally, looks)
        if stopped is not None:
            return stopped
        wanted = yield Step(partial(self._wanted, chunk, tally))
        if wanted is None:
            return Worked(record, returns=True)
        return (yield from self._work_on(chunk, wanted, tally, looks))

    def _chunk(self, record: Record) -> Chunk | None:
        """Return the chunk of *record*; None if its message is not one."""
        try:
            return chunk_of(record)
        except InvalidRequest as error:
            self._log_unnamed(record, error)
            return None

    def _wanted(self, chunk: Chunk, tally: Tally) -> Sequence[int] | None:
        """Return the items to work on, in order; None if the message has to return.

        A poisoned item ends every receive, so each has another order, as ``ordering`` has for records.
        """
        times, indexes = receives(chunk.record), chunk.items.indexes
        if times < 2:
            return indexes
        try:
            remaining = chunk.remaining(self.transport)
        except NotFound:
            tally.unmatched.append((chunk.record, Verdict.NOT_FOUND))
            return None
        except (StoreUnavailable, NewerSchema) as error:
            _log_returned(chunk.record, f"its outstanding items cannot be read: {error}")
            return None
        return remaining if is_in_order(chunk.record) else in_turn(remaining, times, str)

    def _work_on(self, chunk: Chunk, wanted: Sequence[int], tally: Tally, looks: Looks) -> Steps[Worked]:
        """Work on the *wanted* items while there is time and the batch is live.

        Those of a redelivered message are acked one by one; an ack without an answer ends the work.
        """
        part, singly = Part(), receives(chunk.record) > 1
        for position, index in enumerate(wanted):
            if position and not (yield from self._goes_on(chunk, part, tally, looks)):
                break
            yield from self._do(chunk.item(index), part)
            if singly:
                sent, part = part.worked(chunk), Part(returns=part.returns)
                yield Step(partial(self._send, [sent], tally))
                if sent.acks and tally.answered[-1].counts is None:
                    break
        return part.worked(chunk)

    def _goes_on(self, chunk: Chunk, part: Part, tally: Tally, looks: Looks) -> Steps[bool]:
        """Return whether another item of the chunk is started; if not, *part* has its outcome."""
        if seconds_left(self.context) < self.margin_seconds:
            _log_returned(chunk.record, "no time is left for its other items")
            part.returns = True
            return False
        if part.returns and is_in_order(chunk.record):
            return False
        stopped = yield from self._not_due(chunk.record, chunk.ack, tally, looks)
        part.returns = part.returns or (stopped is not None and stopped.returns)
        return stopped is None

    def _do(self, item: ChunkItem, part: Part) -> Steps[None]:
        """Work on one item and note in *part* what came of it."""
        ack = Ack.of(item.id, item.record["messageId"])
        worked = yield from self._work_done(item.record, ack, partial(self.work, item))
        part.acks += worked.acks
        part.returns = part.returns or worked.returns


def each_handler_of(consumer: EachConsumer) -> Handler:
    """Return the Lambda handler that settles each delivery by *consumer*, named after its function."""
    handler = functools.update_wrapper(handler_of(consumer), consumer.work)
    return belonging_to(consumer, handler)


def _ranges(acks: Iterable[Ack]) -> list[Ack]:
    """Return *acks* of one chunk, in order, with neighbours of the same outcome and reason as one range."""
    ranges: list[Ack] = []
    for ack in acks:
        before = ranges[-1] if ranges else None
        if (
            before is not None
            and before.result is None
            and ack.result is None
            and replace(before, first=before.last + 1, last=ack.last) == ack
        ):
            ranges[-1] = replace(before, last=ack.last)
        else:
            ranges.append(ack)
    return ranges


def _log_returned(record: Record, why: str) -> None:
    facts = {"messageId": record["messageId"]}
    logger.warning(f"message %s {RETURNS}: %s", facts["messageId"], why, extra=facts)
