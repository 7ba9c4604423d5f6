"""The way of an ending event: the table's stream, a pipe that describes it, the bus, and its rules."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fanin.api.bus_events.ending_events import confirm, endings
from fanin.aws.messaging.bus import Event
from fanin.completion_events.announcer import Announcer
from fanin.names import BATCH_COMPLETED, BATCH_PROGRESS
from fanin.tracker import Batch, BatchKey, GroupId
from fanin.tracker.announcing import announcing
from fanin.tracker.dynamodb.items import key_of
from fanin.tracker.events import EVENT_TYPES
from tests.simulating.violation import require
from tests.simulation_seams.scenario import CALLBACKS, TENANT, WEBHOOK

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

Detail = dict[str, Any]
TRIES = 8
LOST_MAX = 4
ENDINGS = frozenset(EVENT_TYPES.values())
DELAYS = (0.0, 0.0, 1.0, 40.0)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the bus: the events that it *matches* go to its *target*, again if that fails."""

    name: str
    matches: Callable[[Detail], bool]
    target: Callable[[Detail], None]


def _is_for(name: str, detail: Detail) -> bool:
    """Whether an event is for the callback of that name, as the rule of the stack has it."""
    return detail.get("callback") == name


def _is_copy(detail: Detail, before: Detail) -> bool:
    """Whether two events say the same, but for results that one of them could not name."""
    shared, all_names = detail.keys() & before.keys(), detail.keys() | before.keys()
    return all_names - shared <= {"results"} and all(detail[name] == before[name] for name in shared)


class Bus:
    """Brings the events of batches to its rules: at least once, unless the stream or the bus loses one.

    *arrived*: how often each event came to each of the rules, by rule and event id. *remaining*: how many the
    stream and the bus may still lose. *completions*: what each event of a completion said, by its id.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.remaining = LOST_MAX
        self.arrived: Counter[tuple[str, str]] = Counter()
        self.completions: dict[str, Detail] = {}
        self.rules = (
            Rule("confirm", lambda detail: detail["detailType"] in ENDINGS, self._confirm),
            Rule("resume", lambda detail: detail.get("resumes"), self._resume),
            *(Rule(name, partial(_is_for, name), partial(self._call_back, name)) for name in CALLBACKS),
        )

    def publish(self, keys: Sequence[BatchKey]) -> None:
        """Take the records of batches that ended, or were deleted."""
        for key in keys:
            self._take(key, "batch")

    def resend(self, key: BatchKey) -> None:
        """Take the record of the notice by which an ending event is sent again."""
        self._take(key, "notice#")

    def _take(self, key: BatchKey, sort_key: str) -> None:
        if not self._loses("lost records"):
            self._later("pipe", partial(self._describe, key, sort_key), TRIES)

    def _loses(self, what: str) -> bool:
        """Return whether an event is lost on its way, which is counted as *what*."""
        is_lost = bool(self.remaining) and self.world.random.random() < self.world.scenario.lost
        self.remaining -= is_lost
        self.world.events[what] += is_lost
        return is_lost

    def notice(self, record: Detail) -> None:
        """Take the record of the notice of a threshold, which the stream does not lose."""
        self._later("pipe", partial(self._describe_record, record, 0), None)

    def announcing(self, store: Any) -> Any:
        """Return *store*, whose completions a process puts on the bus at once."""

        def put(events: Sequence[Event]) -> None:
            for each in events:
                if self._loses("lost puts"):  # a bus takes what it then loses, as one does that is not there
                    continue
                key = BatchKey(TENANT, each.detail["batchId"])
                # Acks may come after enough has succeeded, while the event is made.
                landed = 0 if "reached" in each.detail else self.world.referee.landed[key]
                self.world.network.send(self, "put", each.detail, landed)
                self.world.events["put at once"] += 1

        return announcing(store, Announcer(store, put, clock=self._seconds))

    def _seconds(self) -> float:
        """Return the time on the clock of a process, which only grows."""
        return float(self.world.loop.at.timestamp())

    def apply(self, name: str, args: tuple[Any, ...]) -> None:
        """Carry out a request of the pipe."""
        getattr(self, name)(*args)

    def put(self, detail: Detail, landed: int) -> None:
        """Bring an event to each rule. *landed*: the items that were acked when it was begun."""
        self._judge(detail, landed)
        for rule in self.rules:
            if rule.matches(detail):
                for _ in range(2 if self.world.random.random() < 0.1 else 1):
                    tries = TRIES if rule.name == "confirm" else None
                    self._later(rule.name, partial(self._arrive, rule, detail), tries)

    def _later(self, name: str, work: Any, remaining: int | None) -> None:
        """Do something in a process of its own, after some time, and again if it fails.

        *remaining*: how often at most, after which it is dropped; None: until it succeeds.
        """

        def again() -> None:
            if remaining != 0:
                self._later(name, work, remaining and remaining - 1)

        delay = self.world.random.choice(DELAYS)
        self.world.after(delay, name, lambda: self.world.attempt(work, again))

    def _describe(self, key: BatchKey, sort_key: str) -> None:
        """Make the event of a record by the production code, and put it on the bus."""
        record = {"dynamodb": {"Keys": {"pk": {"S": f"{TENANT}#{key.batch_id}"}, "sk": {"S": sort_key}}}}
        landed = self.world.referee.landed[key]
        self._describe_record(record, landed)

    def _describe_record(self, record: Detail, landed: int) -> None:
        key = key_of(record["dynamodb"]["Keys"]["pk"]["S"])
        deleted = self.world.memory.batches[key].deleted_at is not None
        for detail in endings([record], self.world.tracker()):
            require(not deleted, "deletion", lambda detail=detail: f"{detail} is made of a deleted batch")
            self.world.network.send(self, "put", detail, landed)

    def _arrive(self, rule: Rule, detail: Detail) -> None:
        self.arrived[rule.name, detail["eventId"]] += 1
        rule.target(detail)

    def _confirm(self, detail: Detail) -> None:
        confirm(detail, self.world.tracker())

    def _resume(self, detail: Detail) -> None:
        self.world.workflows.resume(detail, self.world.tracker())

    def _call_back(self, name: str, detail: Detail) -> None:
        """Put the event of a webhook into its queue; the other callback is a queue itself."""
        if name == WEBHOOK:
            self.world.network.send(self.world.hooks, "send", json.dumps(detail), self.world.chain)

    def _judge(self, detail: Detail, landed: int) -> None:
        """E: an event says how its batch ended, and says that it completed only if all is done."""
        key = BatchKey(TENANT, detail["batchId"])
        batch, now = self.world.memory.batches[key], self.world.referee.landed[key]
        if batch.deleted_at is not None:
            return
        require(detail.get("callback") == batch.callback, "callbacks", lambda: f"{detail} of {batch}")
        if detail["detailType"] == BATCH_PROGRESS:
            self._judge_progress(detail, key)
            return
        require(not batch.is_alive, "events", f"an event of {key} was put, and it is {batch.state}")
        self.world.readers.judge_manifest(key, detail.get("results"))
        of_state = detail["eventId"] == f"{batch.batch_id}:{batch.state}" and detail["result"] == batch.result
        require(of_state and detail["total"] == batch.total, "events", f"{detail} of {batch}")
        asked = (detail.get("minSucceeded"), detail.get("minSucceededPercent"), detail.get("reached"))
        right = asked == (batch.min_succeeded, batch.min_succeeded_percent, batch.reached)
        require(right, "enough", lambda: f"{detail} was put of {batch}")
        if detail["detailType"] == BATCH_COMPLETED and batch.reached is None:
            first = self.completions.setdefault(detail["eventId"], detail)
            require(_is_copy(detail, first), "events", lambda: f"{detail} was put, and before it {first}")
            require(now == (1 << batch.total) - 1, "early end", f"{detail} was put with {now:b} done")
        low, high, acked = landed.bit_count(), now.bit_count(), detail["acked"]
        right = acked <= high and detail["upperBound"] >= low and (not detail["exact"] or acked >= low)
        right &= detail["outstanding"] + acked == batch.total and detail["failed"] == batch.failed
        require(right, "progress", lambda: f"{detail}, {landed:b} were acked, and {now:b} are")
        self._judge_ranges(detail, batch, landed)

    def _judge_progress(self, detail: Detail, key: BatchKey) -> None:
        """K: the event of a threshold says what was so when it was reached, each time it is sent."""
        reached = self.world.memory.reports.get((key, detail["eventId"].partition(":")[2]))
        require(reached, "thresholds", lambda: f"{detail} was put, and nothing of that is reported")
        if reached is not None:
            progress = reached.progress
            counts = (reached.total, progress.acked, progress.failed, progress.estimate, progress.upper_bound)
            shown = tuple(detail[name] for name in ("total", "acked", "failed", "estimate", "upperBound"))
            right = shown == counts and detail["threshold"] == reached.threshold
            require(right, "thresholds", lambda: f"{detail} was put of {reached}")

    def _judge_ranges(self, detail: Detail, batch: Batch, landed: int) -> None:
        """E: the ranges of an event are what was outstanding when it was made."""
        listed = 0
        for part in detail["ranges"]:
            group = GroupId.decode(part["groupId"])
            start = group.start if group else 0
            listed |= (1 << part["to"] - part["from"] + 1) - 1 << start + part["from"]
        outstanding = (1 << batch.total) - 1 & ~self.world.referee.landed[batch.key]
        wrong = listed & landed or (outstanding & ~listed and not detail["moreRanges"])
        require(
            not wrong, "progress", lambda: f"{detail}, {landed:b} were acked, and {outstanding:b} are left"
        )
