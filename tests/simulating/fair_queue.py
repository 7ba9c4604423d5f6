"""A standard queue of SQS as far as AWS documents how it is fair, and the functions that consume it.

Amazon SQS Developer Guide, "How Amazon SQS fair queues work": a message group is noisy while it has more than
10 % of the messages in flight and at least 30, or more than 10 % of the recent processing time. Messages of
quiet groups are received first; among noisy groups, those of the one with the fewest messages in flight. A
group is quiet again once its backlog is consumed, or none of its messages was in flight for five minutes. A
message without a group is a group of its own.

AWS does not document what is recent; here it is a minute.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

SHARE, LEAST_IN_FLIGHT = 0.1, 30
IDLE_SECONDS, RECENT_SECONDS = 300.0, 60.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of *tenant*, sent at *at*. *group*: its MessageGroupId."""

    at: float
    tenant: str
    group: str | None


@dataclass
class FairQueue:
    """The messages that wait by group, what is in flight, and which groups are noisy."""

    waiting: dict[object, deque[Sent]] = field(default_factory=lambda: defaultdict(deque))
    in_flight: Counter[object] = field(default_factory=Counter)
    worked: deque[tuple[float, object, float]] = field(default_factory=deque)
    last_in_flight: dict[object, float] = field(default_factory=dict)
    noisy: set[object] = field(default_factory=set)

    def send(self, message: Sent) -> None:
        self.waiting[_group(message)].append(message)

    def receive(self, now: float, most: int) -> list[Sent]:
        """Return up to *most* messages, which are in flight from now on."""
        self._judge(now)
        found: list[Sent] = []
        while len(found) < most and self.waiting:
            quiet = self.waiting.keys() - self.noisy
            if quiet:
                group = min(quiet, key=lambda each: self.waiting[each][0].at)
            else:
                group = min(self.waiting, key=lambda each: self.in_flight[each])
            found.append(self.waiting[group].popleft())
            if not self.waiting[group]:
                del self.waiting[group]
            self.in_flight[group] += 1
            self.last_in_flight[group] = now
        return found

    def delete(self, message: Sent, now: float, seconds: float) -> None:
        """Delete a message that was worked on for so long."""
        group = _group(message)
        self.in_flight[group] -= 1
        self.last_in_flight[group] = now
        self.worked.append((now, group, seconds))

    def _judge(self, now: float) -> None:
        while self.worked and self.worked[0][0] < now - RECENT_SECONDS:
            self.worked.popleft()
        worked: Counter[object] = Counter()
        for _, group, seconds in self.worked:
            worked[group] += seconds  # type: ignore[assignment]
        flying, work = self.in_flight.total(), sum(worked.values())
        for group in self.waiting:
            many = self.in_flight[group] >= LEAST_IN_FLIGHT and self.in_flight[group] > SHARE * flying
            if many or worked[group] > SHARE * work > 0:
                self.noisy.add(group)
        idle = {each for each in self.noisy if now - self.last_in_flight.get(each, now) >= IDLE_SECONDS}
        self.noisy = {each for each in self.noisy - idle if each in self.waiting}


def _group(message: Sent) -> object:
    return message.group if message.group is not None else id(message)


def dwell_times(
    messages: Iterable[Sent], concurrency: int, batch: int, seconds: float
) -> dict[str, list[float]]:
    """Return the seconds from send to receive of each tenant's messages, in the order of the receives.

    *concurrency* functions take up to *batch* messages, and work for *seconds* on each.
    """
    queue, arriving = FairQueue(), deque(sorted(messages, key=lambda each: each.at))
    found: dict[str, list[float]] = defaultdict(list)
    idle, working = concurrency, list[tuple[float, int, list[Sent]]]()
    now, serial = 0.0, 0
    while arriving or working or queue.waiting:
        while arriving and arriving[0].at <= now:
            queue.send(arriving.popleft())
        while idle and (taken := queue.receive(now, batch)):
            for each in taken:
                found[each.tenant].append(now - each.at)
            idle, serial = idle - 1, serial + 1
            heappush(working, (now + seconds * len(taken), serial, taken))
        now = min([row[0] for row in working[:1]] + [each.at for each in list(arriving)[:1]], default=now)
        while working and working[0][0] <= now:
            for each in heappop(working)[2]:
                queue.delete(each, now, seconds)
            idle += 1
    return found
