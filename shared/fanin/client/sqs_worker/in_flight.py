"""The messages in flight: how many are received, which one starts next, and which ones are settled."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fanin.client.consuming.ordering import runs_of
from fanin.client.sqs_worker.messages import RECEIVED_MAX, Message

RECEIVED_MIN = 5
"""Messages for which there has to be room before a receive, so that few receives bring many."""
WORKED_MAX = 1000
"""Messages that have been worked on and are not deleted, beyond which none is received: one ack request."""
SETTLED_AT_ONCE = 500
"""Messages that have been worked on and are settled at once, without waiting for others."""
RETURNED_MAX = 10_000
"""Messages that this worker returned itself and remembers."""


@dataclass(eq=False)
class InFlight:
    """Messages that wait, are under work, or have been worked on; each method is one atomic step.

    *concurrency*: messages under work at once, at most; *ahead*: that wait beside them. *isolates*: a
    redelivered message is under work alone: this worker then has no other one under work and receives none.
    It may have ended another process; one that this worker returned itself has not. *groups*: messages of a
    FIFO queue wait for those before them in their group. *is_waking*: a thread was woken to start a message,
    and wakes another one if there are more; the others stay asleep while short work needs one thread.
    """

    concurrency: int
    ahead: int = RECEIVED_MAX
    isolates: bool = True
    groups: bool = True
    receiving: int = 0
    was_empty: bool = False
    is_stopping: bool = False
    is_waking: bool = False
    waiting: deque[Message] = field(default_factory=deque)
    alone: list[Message] = field(default_factory=list)
    behind: dict[str, deque[Message]] = field(default_factory=dict)
    working: dict[int, Message] = field(default_factory=dict)
    worked: list[Message] = field(default_factory=list)
    settling: dict[int, Message] = field(default_factory=dict)
    settled: deque[Message] = field(default_factory=deque)
    isolated: Message | None = None
    lost: list[Message] = field(default_factory=list)
    returned: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.has_room, self.can_start, self.can_settle, self.can_delete, self.is_empty = (
            threading.Condition(self.lock) for _ in range(5)
        )

    def begin_receive(self) -> int:
        """Return how many messages to receive now; if any, ``end_receive`` has to follow."""
        with self.lock:
            most = self.room
            self.receiving += bool(most)
            if self.room:
                self.has_room.notify()
            return most

    def end_receive(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Take received messages in; return those that are not wanted any more, because of a stop."""
        with self.lock:
            self.receiving -= 1
            self.was_empty = not messages
            if not self.is_stopping:
                for message in messages:
                    self._admit(message)
            self._notify()
            return messages if self.is_stopping else ()

    def start(self, now: float, most: int = 1) -> list[Message]:
        """Return up to *most* messages whose work is started now."""
        with self.lock:
            started: list[Message] = []
            while self._may_start() and len(started) < most and (message := self._next()) is not None:
                if message.is_lost or message.until <= now:
                    self._lose(message)
                    continue
                self.working[id(message)] = message
                started.append(message)
            self._wake_starter()
            return started

    def await_start(self, seconds: float) -> None:
        """Wait until work can start, at most for *seconds*."""
        with self.can_start:
            self.is_waking = False
            self.can_start.wait_for(lambda: self.is_startable, seconds)
            self.is_waking = False

    def end_work(self, messages: Iterable[Message]) -> None:
        """Note that the work on messages has ended; they are settled next."""
        with self.lock:
            were_worked = bool(self.worked)
            for message in messages:
                if self.working.pop(id(message), None) is not None:
                    self.worked.append(message)
            if self.worked and not were_worked:
                self.can_settle.notify()
            self._notify()

    def begin_settling(self) -> list[Message]:
        """Return all messages that have been worked on, to settle them together."""
        with self.lock:
            messages, self.worked = self.worked, []
            self.settling.update((id(each), each) for each in messages)
            return messages

    def end_settling(self, messages: Iterable[Message]) -> None:
        """Note that messages are settled; they are deleted next."""
        with self.lock:
            self.settled.extend(messages)
            self.can_delete.notify_all()

    def begin_deleting(self) -> list[Message]:
        """Return messages to delete by one request; each of them has to leave by ``end``."""
        with self.lock:
            return [self.settled.popleft() for _ in range(min(RECEIVED_MAX, len(self.settled)))]

    def end(self, messages: Iterable[Message], returns: bool) -> None:
        """Let messages leave: they are deleted, or *return*, and with each those behind it in its group."""
        with self.lock:
            for message in messages:
                self._end(message, returns)
            self._notify()

    def stop(self) -> list[Message]:
        """Start and receive no more; return the messages that waited, which leave."""
        with self.lock:
            self.is_stopping = True
            waiting = [*self.waiting, *self.alone, *(each for line in self.behind.values() for each in line)]
            for line in (self.waiting, self.alone, self.behind):
                line.clear()
            for message in waiting:
                message.calls.end()
            self._notify()
            return waiting

    def held(self) -> list[Message]:
        """Return all messages that are in flight and not lost."""
        with self.lock:
            lines = (self.waiting, self.alone, *self.behind.values(), self.worked)
            found = [each for line in lines for each in line]
            found += [*self.working.values(), *self.settling.values()]
            return [each for each in found if not each.is_lost]

    def take_lost(self) -> list[Message]:
        """Return the messages that left because the worker lost them before their work."""
        with self.lock:
            lost, self.lost = self.lost, []
            return lost

    @property
    def count(self) -> int:
        """How many messages are in flight, each receive in progress counted as one."""
        return self.receiving + self._waiting() + len(self.working) + self._unsettled()

    @property
    def is_awaited(self) -> bool:
        """Whether messages wait until others are settled, or the worker for the last ones."""
        return self.is_stopping or bool(self.alone or self.isolated or any(self.behind.values()))

    @property
    def room(self) -> int:
        """How many messages may be received; of a queue that was empty, by one receive at a time."""
        if self.is_stopping or self.alone or self.isolated or self._unsettled() >= WORKED_MAX:
            return 0
        if self.was_empty and self.receiving:
            return 0
        limit = self.concurrency + self.ahead
        free = limit - len(self.working) - self._waiting() - RECEIVED_MAX * self.receiving
        return min(RECEIVED_MAX, free) if free >= min(limit, RECEIVED_MIN) else 0

    @property
    def is_startable(self) -> bool:
        """Whether work can start now."""
        return self._may_start() and bool(self.waiting or self._alone_may_start())

    @property
    def is_due(self) -> bool:
        """Whether what has been worked on is settled without waiting for others."""
        return len(self.worked) >= SETTLED_AT_ONCE or self.is_awaited

    def _end(self, message: Message, returns: bool) -> None:
        self.working.pop(id(message), None)
        self.settling.pop(id(message), None)
        self.isolated = None if self.isolated is message else self.isolated
        message.calls.end()
        if returns:
            self._note_returned(message)
        self._go_on_in_group(message, returns)

    def _waiting(self) -> int:
        return len(self.waiting) + len(self.alone) + sum(map(len, self.behind.values()))

    def _unsettled(self) -> int:
        return len(self.worked) + len(self.settling)

    def _admit(self, message: Message) -> None:
        group = message.group if self.groups else None
        if group is not None and group in self.behind:
            self.behind[group].append(message)
            return
        if group is not None:
            self.behind[group] = deque()
        self._line_up(message)

    def _line_up(self, message: Message) -> None:
        """Let a message wait for its start, in the line that is worked on alone if it may end its process."""
        returned_here = self.returned.get(message.id) == message.receives - 1
        if self.isolates and message.receives > 1 and not returned_here:
            self.alone = _in_order([*self.alone, message])
        else:
            self.waiting.append(message)

    def _may_start(self) -> bool:
        return not self.is_stopping and self.isolated is None and len(self.working) < self.concurrency

    def _next(self) -> Message | None:
        """Take the next message out of its line; one to be worked on alone if nothing else is in progress."""
        if self.waiting:
            return self.waiting.popleft()
        if not self._alone_may_start():
            return None
        self.isolated = self.alone.pop(0)
        return self.isolated

    def _alone_may_start(self) -> bool:
        return bool(self.alone) and not (self.working or self._unsettled() or self.receiving)

    def _lose(self, message: Message) -> None:
        """Drop a message that may be visible again before its work; those behind it in its group, too."""
        message.is_lost = True
        message.calls.end()
        self.isolated = None if self.isolated is message else self.isolated
        self.lost.append(message)
        self._go_on_in_group(message, returns=True)

    def _note_returned(self, message: Message) -> None:
        self.returned[message.id] = message.receives
        while len(self.returned) > RETURNED_MAX:
            self.returned.popitem(last=False)

    def _go_on_in_group(self, message: Message, returns: bool) -> None:
        """Let the next message of a group wait for its start; if this one *returns*, all behind it return."""
        group = message.group if self.groups else None
        line = self.behind.pop(group, None) if group is not None else None
        if not line:
            return
        if returns:
            for each in line:
                each.calls.end()
                self._note_returned(each)
            return
        self._line_up(line.popleft())
        self.behind[str(group)] = line

    def _wake_starter(self) -> None:
        if not self.is_waking and self.is_startable:
            self.is_waking = True
            self.can_start.notify()

    def _notify(self) -> None:
        """Wake a thread of each kind that can go on; one that cannot stays asleep."""
        if self.room:
            self.has_room.notify()
        self._wake_starter()
        if self.worked and self.is_due:
            self.can_settle.notify()
        self.is_empty.notify_all()


def _in_order(messages: Sequence[Message]) -> list[Message]:
    """Return redelivered messages in the order in which a delivery of them would be worked on."""
    records = [message.record for message in messages]
    by_record = {id(message.record): message for message in messages}
    return [by_record[id(record)] for run in runs_of(records) for record in run]
