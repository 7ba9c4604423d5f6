"""A consumer of messages that are acks: each is acked and deleted, or returns after a growing pause."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanin.client.consuming.consumer import Consumer, logger
from fanin.client.consuming.ordering import is_in_order
from fanin.client.consuming.settling import Outcomes, Settled
from fanin.isolating import SHOWN, Isolate, Record, isolated, receives, records_of

FIRST_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 6 * 3600
"""SQS hides a message for at most 12 hours from its receipt."""
LONGEST_PAUSE_IN_ORDER_SECONDS = 15 * 60
"""In a FIFO queue, the messages of its group wait behind a hidden message."""
DOUBLINGS_MAX = 20

Hide = Callable[[str, Mapping[str, int]], None]
"""Hides messages of a queue, given its ARN: receipt handle -> seconds."""


@dataclass(frozen=True, slots=True)
class Adapter(Consumer):
    """Acks the item of each message by ``ack_of``, and returns the messages that match no item.

    A message that names no item, or one that is in no batch of the transport's tenant, returns to its queue:
    *hide* hides it for a pause that doubles with each receipt. At its fifth receipt *isolate* sends it to the
    dead-letter queue, and it is deleted here; without *isolate*, it stays until the ``maxReceiveCount`` of
    its queue or its retention. *chance*: returns a random number from 0 to 1.
    """

    hide: Hide | None = None
    isolate: Isolate | None = None
    chance: Callable[[], float] = random.random

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Ack the messages of a delivery, and hide those that match no item; one log line lists them."""
        settled = Consumer.settle(self, event, context)
        unknown = [record for record, _ in settled.unmatched]
        failed = set(settled.failed)
        nameless = [r for r in records_of(event) if r["messageId"] in failed and self._ack(r) is None]
        sent = isolated([*nameless, *unknown], self.isolate)
        self._return(_without(nameless, sent), _without(unknown, sent))
        return replace(
            settled,
            failed=[message_id for message_id in settled.failed if message_id not in sent],
            unmatched=[each for each in settled.unmatched if each[0]["messageId"] not in sent],
        )

    def _log_unnamed(self, record: Record, error: Exception) -> None:
        """Log nothing for a single message, because the delivery has one line for all."""

    def _log_unmatched(self, unmatched: Outcomes) -> None:
        """Log nothing here, because the delivery's line counts these messages, too."""

    def _return(self, nameless: Sequence[Record], unknown: Sequence[Record]) -> None:
        """Hide the messages that match no item, and log them in one line."""
        records = [*nameless, *unknown]
        if not records:
            return
        shown = [{"messageId": each["messageId"], "receives": receives(each)} for each in records[:SHOWN]]
        facts = {"count": len(records), "returned": shown}
        logger.warning(
            "%d messages return to the queue: %d name no item, %d an item that is in no batch of this tenant",
            *(len(records), len(nameless), len(unknown)),
            extra=facts,
        )
        received = [record for record in records if "receiptHandle" in record]
        if self.hide is not None and received:
            pauses = {record["receiptHandle"]: self._pause(record) for record in received}
            self.hide(received[0]["eventSourceARN"], pauses)

    def _pause(self, record: Record) -> int:
        longest = LONGEST_PAUSE_IN_ORDER_SECONDS if is_in_order(record) else LONGEST_PAUSE_SECONDS
        return pause_of(receives(record), longest, self.chance())


def _without(records: Sequence[Record], ids: Collection[str]) -> list[Record]:
    return [record for record in records if record["messageId"] not in ids]


def pause_of(times: int, longest: int, chance: float) -> int:
    """Return the seconds to hide a message that was received *times* times.

    They double with each receipt, up to *longest*; *chance*, from 0 to 1, subtracts up to half of them.
    """
    most = min(longest, FIRST_PAUSE_SECONDS * 2 ** min(times - 1, DOUBLINGS_MAX))
    return int(most * (1 - chance / 2))


def hide_by_sqs(queue_arn: str, pauses: Mapping[str, int]) -> None:
    """Hide messages of a queue with the credentials of this process; one that cannot be hidden is logged."""
    from fanin.aws import clients  # noqa: PLC0415  # few deliveries have messages to hide
    from fanin.aws.messaging.visibility import Visibility  # noqa: PLC0415  # see above

    Visibility(clients.sqs()).hide(queue_arn, pauses)
