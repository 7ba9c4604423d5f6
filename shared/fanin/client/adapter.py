"""Messages that say how an item fared: each is acked and deleted, or goes back with a growing pause."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanin.client.consumer import DROPPED, SHOWN, Consumer, Record, Settled, logger, receives

FIRST_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 6 * 3600
"""SQS hides a message for at most 12 hours from its receipt."""
LONGEST_PAUSE_IN_ORDER_SECONDS = 15 * 60
"""In a FIFO queue, the messages of its group wait behind a hidden message."""
DOUBLINGS_MAX = 20

Hide = Callable[[str, Mapping[str, int]], None]
"""Hide messages of a queue, by its ARN: receipt handle -> seconds."""


@dataclass(frozen=True, slots=True)
class Adapter(Consumer):
    """Acks what messages say of their items, by ``ack_of``, and deletes no message that it could not match.

    A message that names no item, or one that is in no batch of the transport's tenant, goes back: *hide*
    keeps it away for a pause that doubles with each receipt. So it ends in the dead-letter queue of its
    queue; without one, it stays until its retention ends. *chance*: a random number from 0 to 1.
    """

    hide: Hide | None = None
    chance: Callable[[], float] = random.random

    def settle(self, event: Mapping[str, Any], context: Any = None) -> Settled:
        """Ack the messages of a delivery; one log line says what goes back unmatched."""
        settled = Consumer.settle(self, event, context)
        unknown = [record for record, verdict in settled.acked if verdict in DROPPED]
        failed = set(settled.failed)
        nameless = [r for r in event["Records"] if r["messageId"] in failed and self._ack(r) is None]
        self._return(nameless, unknown)
        matched = [(record, verdict) for record, verdict in settled.acked if verdict not in DROPPED]
        return replace(
            settled, acked=matched, failed=[*settled.failed, *(record["messageId"] for record in unknown)]
        )

    def _nameless(self, record: Record, error: Exception) -> None:
        """Say nothing of a single message: the delivery has one line for all."""

    def _told(self, settled: Settled) -> Settled:
        """Leave the log to the delivery's line: nothing is dropped here."""
        return settled

    def _return(self, nameless: Sequence[Record], unknown: Sequence[Record]) -> None:
        """Hide what could not be matched, and log it in one line."""
        records = [*nameless, *unknown]
        if not records:
            return
        shown = [{"messageId": each["messageId"], "receives": receives(each)} for each in records[:SHOWN]]
        facts = {"count": len(records), "returned": shown}
        logger.warning(
            "%d messages go back: %d name no item, %d an item that is in no batch of this tenant",
            *(len(records), len(nameless), len(unknown)),
            extra=facts,
        )
        received = [record for record in records if "receiptHandle" in record]
        if self.hide is not None and received:
            pauses = {record["receiptHandle"]: self._pause(record) for record in received}
            self.hide(received[0]["eventSourceARN"], pauses)

    def _pause(self, record: Record) -> int:
        in_order = str(record["eventSourceARN"]).endswith(".fifo")
        longest = LONGEST_PAUSE_IN_ORDER_SECONDS if in_order else LONGEST_PAUSE_SECONDS
        return pause_of(receives(record), longest, self.chance())


def pause_of(times: int, longest: int, chance: float) -> int:
    """Seconds to hide a message that was received so many *times*: they double each time, up to *longest*.

    *chance* takes up to a half away.
    """
    most = min(longest, FIRST_PAUSE_SECONDS * 2 ** min(times - 1, DOUBLINGS_MAX))
    return int(most * (1 - chance / 2))


def hide_by_sqs(queue_arn: str, pauses: Mapping[str, int]) -> None:
    """Hide messages of a queue with the credentials of this process; one that cannot be hidden is logged."""
    from fanin.aws import clients  # noqa: PLC0415  # few deliveries have messages to hide
    from fanin.aws.visibility import Visibility  # noqa: PLC0415

    Visibility(clients.sqs()).hide(queue_arn, pauses)
