"""The steps of a worker: receive, perform, settle, extend, stop. Any thread may take any of them."""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fanin.client.sqs_worker.in_flight import InFlight
from fanin.client.sqs_worker.messages import Message, Performer
from fanin.client.sqs_worker.visibility import Leases
from fanin.errors import FaninError, StoreUnavailable
from fanin.isolating import SHOWN
from fanin.user_functions import log_failure

logger = logging.getLogger("fanin")

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 30.0
DOUBLINGS_MAX = 10
WAIT_SECONDS = 5
"""A long poll. At a stop, the worker waits for its end: SQS may hide messages for it until then."""


@dataclass(eq=False)
class Worker:
    """Takes messages of ``leases.source`` through ``in_flight``; *performer* does the work.

    *wait*: seconds of a long poll. *counts*: deleted, returned, lost and released messages.
    *failures*: receives in a row that failed. *error*: why the worker stops, if it stops by itself.
    """

    in_flight: InFlight
    leases: Leases
    performer: Performer
    wait: int = WAIT_SECONDS
    chance: Callable[[], float] = random.random
    counts: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    error: BaseException | None = None

    def receive(self) -> int | None:
        """Receive messages if there is room for some; return their number, None if SQS gave no answer."""
        most = self.in_flight.begin_receive()
        if not most:
            return 0
        asked_at, messages = self.leases.now(), []
        try:
            hidden = self.leases.hidden(self.wait)
            records = self.leases.source.receive(most, self.wait, hidden)
            until = asked_at + (math.inf if hidden is None else hidden)
            messages = [Message(record, asked_at, until) for record in records]
            self.failures = 0
        except StoreUnavailable as error:
            self.failures += 1
            logger.warning("the queue %s gave no answer: %s", self.leases.source.name, error)
            return None
        finally:
            self._release(self.in_flight.end_receive(messages))
        return len(messages)

    def pause(self) -> float:
        """Return the seconds to wait before the next receive: they double with each failure, with jitter."""
        if not self.failures:
            return 0.0
        longest = FIRST_PAUSE_SECONDS * (1 << min(self.failures, DOUBLINGS_MAX))
        return min(LONGEST_PAUSE_SECONDS, longest) * (1 - self.chance() / 2)

    def start(self, most: int = 1) -> list[Message]:
        """Return up to *most* messages whose work starts now."""
        messages = self.in_flight.start(self.leases.now(), most)
        self._report_lost(self.in_flight.take_lost(), "before its work, which is not started")
        return messages

    def perform(self, messages: Sequence[Message]) -> None:
        """Work on messages that were started together."""
        try:
            for message, outcome in zip(messages, self.performer.perform(messages), strict=True):
                message.outcome = outcome
        except BaseException as error:
            self.give_up(messages, error)
            raise
        self.in_flight.end_work(messages)

    async def perform_in_task(self, message: Message) -> None:
        """Work on a message in a task of asyncio."""
        try:
            message.outcome = await self.performer.perform_in_task(message)
        except BaseException as error:
            self.give_up([message], error)
            raise
        self.in_flight.end_work([message])

    def settle(self) -> int:
        """Ack all that has been worked on together; what does not return is deleted next. Return how many."""
        messages = self.in_flight.begin_settling()
        if not messages:
            return 0
        try:
            returned = self.performer.settle(messages)
        except Exception as error:
            returned = {message.id for message in messages}
            line = "%d messages return to the queue, not settled"
            log_failure(logger, line, len(messages), error=error)
            if isinstance(error, FaninError):
                self.fail(error)
        self._end([each for each in messages if each.id in returned], returns=True)
        self.in_flight.end_settling(each for each in messages if each.id not in returned)
        return len(messages)

    def extend(self) -> None:
        """Hide the messages in flight for longer, and report those that this worker has lost."""
        self._report_lost(
            self.leases.extend(self.in_flight.held()), "before its end: another worker may work on it, too"
        )

    def stop(self) -> None:
        """Start and receive no more, and make the messages visible again whose work has not begun."""
        self._release(self.in_flight.stop())

    def abandon(self) -> int:
        """Return what is still under work to the queue at once; return how many messages that are."""
        messages = list(self.in_flight.working.values())
        self._release(messages)
        self.in_flight.end(messages, returns=True)
        return len(messages)

    def give_up(self, messages: Sequence[Message], error: BaseException) -> None:
        """Return messages whose work ended the thread, and stop because of the *error*."""
        self._release(messages)
        self._end(messages, returns=True)
        self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Stop because of an *error* that another attempt would meet again."""
        self.error = self.error or error
        self.stop()

    def delete(self) -> int:
        """Delete up to ten messages that are settled, unless this worker has lost them; return how many."""
        messages = self.in_flight.begin_deleting()
        now = self.leases.now()
        held = [each for each in messages if now < each.until and not each.is_lost]
        refused = self._refused(held)
        outlived = [each for each in messages if each not in held or each.receipt in refused]
        if outlived:
            facts = {"count": len(outlived), "kept": [each.id for each in outlived[:SHOWN]]}
            line = "%d messages are acked, and not deleted: %s; they come back, and are deleted without work"
            logger.warning(
                line, len(outlived), refused.get("", "their visibility timeout ended"), extra=facts
            )
        self._end([each for each in messages if each not in outlived], returns=False)
        self._end(outlived, returns=True)
        return len(messages)

    def _refused(self, messages: Sequence[Message]) -> dict[str, str]:
        """Delete messages; return the receipt handles that were not deleted, and under "" the reason."""
        if not messages:
            return {}
        receipts = [message.receipt for message in messages]
        try:
            return dict.fromkeys(self.leases.source.delete(receipts), "")
        except StoreUnavailable as error:
            return {**dict.fromkeys(receipts, ""), "": str(error)}

    def _end(self, messages: Sequence[Message], returns: bool) -> None:
        if messages:
            self._count("returned" if returns else "deleted", messages)
            self.in_flight.end(messages, returns)

    def _count(self, name: str, messages: Sequence[Message]) -> None:
        """Count messages: of several threads that add to one number at once, one would be forgotten."""
        with self.in_flight.lock:
            self.counts[name] += len(messages)

    def _release(self, messages: Sequence[Message]) -> None:
        self._count("released", messages)
        self.leases.release(messages)

    def _report_lost(self, messages: Sequence[Message], when: str) -> None:
        """Log messages whose visibility timeout ended although they are in flight."""
        self._count("lost", messages)
        for message in messages:
            facts = {"messageId": message.id, "receives": message.receives}
            logger.warning("the visibility timeout of message %s ended %s", message.id, when, extra=facts)
