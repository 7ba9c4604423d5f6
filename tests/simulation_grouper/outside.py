"""What is not the group-batcher's: queues that deliver at least once, a batch API, and those who listen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from fanin.grouper import (
    Answer,
    BundleKey,
    Call,
    Message,
    Outcome,
    Posting,
    Task,
    Verdict,
)
from fanin.grouper.use_cases.registering import payload_text
from tests.simulating.loop import Loop
from tests.simulating.violation import require
from tests.simulation_grouper.referee import Referee
from tests.simulation_grouper.scenario import RECEIVES_MAX, VISIBILITY, Scenario


class Receiver:
    """Carries out requests by name."""

    def apply(self, sender: str, name: str, args: tuple[Any, ...]) -> Any:
        return getattr(self, name)(*args)


@dataclass(eq=False, slots=True)
class Sent:
    """A message in a queue."""

    message: Message
    visible_at: datetime
    receives: int = 0


class Queues(Receiver):
    """Both queues. *dead*: messages received too often; *returned*: deliveries that ended in an error."""

    def __init__(self, loop: Loop) -> None:
        self.sent: list[Sent] = []
        self.dead = 0
        self.returned = 0
        self._loop = loop

    def post(self, posting: Posting) -> None:
        require(0 <= posting.delay <= 900, "queue", f"a delay of {posting.delay} s")
        self.sent.append(Sent(posting.message, self._loop.at + timedelta(seconds=posting.delay)))

    def visible(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.visible_at <= self._loop.at]

    def receive(self, sent: Sent) -> bool:
        """Hide the message for a while; False if it went to the dead-letter queue instead."""
        sent.receives += 1
        sent.visible_at = self._loop.at + VISIBILITY
        if sent.receives <= RECEIVES_MAX:
            return True
        self.dead += 1
        self.sent.remove(sent)
        return False

    def delete(self, sent: Sent) -> None:
        if sent in self.sent:
            self.sent.remove(sent)


class Api(Receiver):
    """A batch API that keeps idempotency keys: what it did once for a key it answers again.

    If it answers by member, it refuses poison under a name that was not sent at the first attempt.
    """

    def __init__(self, scenario: Scenario, random: Random, referee: Referee) -> None:
        self.calls: Counter[tuple[str, int]] = Counter()
        self.outcomes: dict[str, list[str]] = defaultdict(list)
        self.payloads_done: set[str] = set()
        self.retries: Counter[str] = Counter()
        self._poison = {task.task_id: task.poison for task in scenario.tasks}
        self._answers: dict[str, Answer] = {}
        self._failures = scenario.failures
        self._scenario, self._random, self._referee = scenario, random, referee

    def call(self, call: Call) -> Answer:
        self._check(call)
        key = call.idempotency_key
        if key not in self._answers:
            answer = self._answer(call)
            if answer.whole.verdict is not Verdict.OK or answer.members.keys() - self._poison.keys():
                return answer
            self._answers[key] = answer
            for member in call.members:
                verdict = answer.members.get(member.task_id, answer.whole).verdict
                self.retries[member.task_id] += verdict is Verdict.RETRY
                if verdict is Verdict.OK:
                    self.outcomes[member.task_id].append(key)
                    self.payloads_done.add(payload_text(member.payload))
        return self._answers[key]

    def _answer(self, call: Call) -> Answer:
        names = [member.task_id for member in call.members]
        kinds = {self._poison[name] for name in names} - {""}
        if "hang" in kinds or self._fails():
            return Answer(Outcome(Verdict.RETRY, "busy"))
        if not self._scenario.by_member:
            return Answer(Outcome(Verdict.FAIL, "refused")) if kinds else Answer()
        misspelt = "?" if call.attempt == 1 else ""
        named = {
            f"{name}{misspelt}": Outcome(Verdict.FAIL, "refused") for name in names if self._poison[name]
        }
        named |= {name: Outcome(Verdict.RETRY) for name in names if name not in named and self._fails()}
        return Answer(members=named)

    def _fails(self) -> bool:
        if self._failures and self._random.random() < 0.2 + self._failures / 40:
            self._failures -= 1
            return True
        return False

    def _check(self, call: Call) -> None:
        """B4, and B2 as the API sees it."""
        self.calls[call.bundle_id, call.attempt] += 1
        require(self.calls[call.bundle_id, call.attempt] == 1, "B4", "one attempt was called twice")
        require(1 <= call.attempt <= self._scenario.policy.max_attempts, "B4", f"attempt {call.attempt}")
        names = tuple(member.task_id for member in call.members)
        bundle = self._referee.known_bundles[BundleKey(call.tenant, call.bundle_id)]
        inside = names and names == tuple(name for name in bundle.members if name in names)
        require(inside, "B2", f"{names} were called, not {bundle.members}")
        left_out = [name for name in bundle.members if name not in names]
        gone = not any(self._referee.is_in(name, bundle) for name in left_out)
        require(gone, "B2", f"{left_out} were left out, and one of them is in the bundle")
        for member in call.members:
            joined = self._referee.joined[bundle.key, member.task_id]
            same = payload_text(member.payload) == joined
            require(same, "B2", f"{member} was called in a bundle that {joined} is in")
        if self._scenario.policy.rate:
            tokens = sum(len(times) for times in self._referee.tokens.values())
            require(self.calls.total() <= tokens, "rate", "a call was made without a token")


class Listeners(Receiver):
    """Receives the reports of how tasks ended."""

    def __init__(self, referee: Referee) -> None:
        self.reported = referee.reported
        self._referee = referee

    def notify(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            require(task in self._referee.endings, "reported", f"{task.task_id} was reported as {task.state}")
            self.reported[task.key, task.created_at] = task.state
