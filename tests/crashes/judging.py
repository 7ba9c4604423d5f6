"""Runs a scenario undisturbed, then disturbed at each of its requests, and compares what is stored and sent.

A disturbance is: killed before request k, killed after it, another copy of the event processed whole before
request k, no time left from request k on, or the whole event delivered twice.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from fanin.queue import ShutDown
from tests.crashes.account import Account, Killed, Saved
from tests.crashes.bucket import found_in
from tests.crashes.naming import ENVIRONMENT
from tests.crashes.process import FRESH, forget, twin
from tests.crashes.scenario import Context, Delivery, Scenario
from tests.crashes.streaming import carry

DELIVERIES = 8
FRESH_ROWS = {"Batches": {"salt", "dueShard", "liveShard", "tenantShard"}}
"""Attributes that each process draws by itself, or that follow from an id that it draws."""
DIGITS = re.compile(r"d[0-9]+|compacted")
PARTS = re.compile(r'\\"parts\\": [0-9]+, \\"bytes\\": [0-9]+')
"""Of results in an event: a part that came twice is counted twice."""
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
DRAWN = re.compile(
    rf"{FRESH}{FRESH}-?{FRESH}-?[0-9a-f]{{4}}-?[0-9a-f]{{4}}-?[0-9a-f]{{12}}|(?<=-8000-800[0-9a-f]-)[0-9a-f]{{12}}"
)
"""Ids that a process draws, and the end of ids of groups, which follows from that of their batch."""
MAY_DIFFER = re.compile(r"sample#.*|notice#[0-9]{13}")
"""Sort keys: reasons, of which a batch keeps a sample, and notices that ask for the ending event again."""
Hook = Callable[[int], None]


@dataclass(frozen=True)
class Final:
    """What a run left: rows with their number, and everything that was sent, each once."""

    rows: Counter[str]
    sent: frozenset[str]
    answer: Any

    def differences(self, other: Final) -> list[str]:
        """Return what *other*, a disturbed run, has in excess and what it lacks."""
        more = sorted((other.rows - self.rows).elements())
        less = sorted((self.rows - other.rows).elements())
        rows = _changes(less, more) if len(more) == len(less) else _named(less, more)
        sent = [f"extra {each}" for each in sorted(other.sent - self.sent)]
        lost = [f"missing {each}" for each in sorted(self.sent - other.sent)]
        answer = [] if other.answer == self.answer else [f"answer {other.answer}, not {self.answer}"]
        return [*rows, *lost, *sent, *answer]


def _changes(expected: list[str], found: list[str]) -> list[str]:
    """Return what differs between rows that are alike."""
    changes = []
    for before, after in zip(expected, found, strict=True):
        (table, was), (_, now) = _parsed(before), _parsed(after)
        names = sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
        differing = ", ".join(f"{name} {now.get(name)}, not {was.get(name)}" for name in names)
        changes.append(f"{table} {was.get('pk') or was.get('lane')}: {differing}")
    return changes


def _named(missing: list[str], extra: list[str]) -> list[str]:
    return [*(f"missing row {row}" for row in missing), *(f"extra row {row}" for row in extra)]


def _parsed(row: str) -> tuple[str, dict[str, Any]]:
    table, _, attributes = row.partition(" ")
    return table, json.loads(attributes)


@dataclass(frozen=True)
class Disturbance:
    """*kind* at request *at*; 0 for the kinds that concern the whole event."""

    kind: str
    at: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.at}" if self.at else self.kind


@dataclass
class Judged:
    """A scenario after all its runs."""

    scenario: Scenario
    requests: list[str]
    runs: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


KILLS = ("killed before", "killed after")
OTHERS = ("overtaken before", "out of time before")
MANY = 16
"""Of an event with more requests, each is killed before, and at most so many are disturbed in other ways."""


def disturbances(requests: int) -> Iterator[Disturbance]:
    """Yield every disturbance of an event whose handler makes so many *requests*.

    Killed after a request is what killed before the next one is, so that many requests are not killed twice.
    """
    some = range(1, requests + 1, 1 + requests // MANY)
    for at in range(1, requests + 1):
        yield Disturbance("killed before", at)
        if at in some or at == requests:
            yield Disturbance("killed after", at)
            yield from (Disturbance(kind, at) for kind in OTHERS)
    yield Disturbance("delivered twice")


@dataclass
class Judge:
    """Runs scenarios in *account*, empty at first; *chosen*: which disturbances of so many requests."""

    account: Account
    chosen: Callable[[Disturbance, int], bool] = lambda _each, _requests: True

    def judge(self, scenario: Scenario) -> Judged:
        """Run *scenario* undisturbed, then with each of the chosen disturbances."""
        empty = self.account.save()
        try:
            delivery = scenario.prepare(self.account)
            prepared = self.account.save()
            expected, requests = self._run(scenario, prepared, delivery, Disturbance("undisturbed"))
            if not requests:
                raise AssertionError(f"{scenario.id} sends nothing: {expected.answer}")
            judged = Judged(scenario, requests)
            for each in disturbances(len(requests)):
                if self.chosen(each, len(requests)):
                    self._compare(judged, prepared, delivery, each, expected)
        finally:
            self.account.restore(empty)
        return judged

    def _compare(
        self, judged: Judged, prepared: Saved, delivery: Delivery, each: Disturbance, expected: Final
    ) -> None:
        judged.runs[each.kind] += 1
        try:
            final, _ = self._run(judged.scenario, prepared, delivery, each)
        except Exception as error:
            judged.failures.append(f"{judged.scenario.id}, {each}: {type(error).__name__}: {error}")
            return
        found = expected.differences(final)
        request = judged.requests[each.at - 1] if each.at else ""
        if found:
            judged.failures.append(f"{judged.scenario.id}, {each} {request}: " + "; ".join(found))

    def _run(
        self, scenario: Scenario, prepared: Saved, delivery: Delivery, how: Disturbance
    ) -> tuple[Final, list[str]]:
        """Run the event to its end, then the duties; return what is left, and the first run's requests."""
        self.account.restore(prepared)
        context = Context()
        self._disturb(scenario, delivery, how, context)
        answer, remaining = self._invoked(scenario.handler, delivery, context)
        requests = list(self.account.requests)
        if how.kind == "undisturbed" and (
            (remaining is not None and not scenario.returns) or _is_refused(answer)
        ):
            raise AssertionError(f"{scenario.id}: {answer}, and {remaining} is left")
        if how.kind == "delivered twice":
            remaining = delivery
        answer = self._until_done(scenario.handler, remaining, answer)
        for duty in scenario.duties:
            self.account.clock.pass_by(duty.after)
            self.account.restart()
            self._until_done(duty.handler, duty.delivery(self.account), None)
        self.account.restart()
        carry(self.account)
        return self._final(scenario, answer), requests

    def _until_done(self, handler: str, remaining: Delivery | None, answer: Any) -> Any:
        for _ in range(DELIVERIES):
            if remaining is None:
                return answer
            self.account.restart()
            answer, remaining = self._invoked(handler, remaining, Context())
        raise AssertionError(f"{handler} is still not done after {DELIVERIES} deliveries: {answer}")

    def _invoked(self, handler: str, delivery: Delivery, context: Context) -> tuple[Any, Delivery | None]:
        """Invoke the handler once; killed or without time, it gives no answer: its event comes again."""
        try:
            with redirect_stdout(io.StringIO()):  # metrics
                answer, remaining = delivery.invoke(handler, context)
        except (Killed, ShutDown):
            return None, delivery
        return (None, delivery) if self.account.dead else (answer, remaining)

    def _disturb(self, scenario: Scenario, delivery: Delivery, how: Disturbance, context: Context) -> None:
        account, kind = self.account, how.kind
        at = _at(how.at)
        if kind == "killed before":
            account.before = at(account.kill)
        elif kind == "killed after":
            account.after = at(account.kill)
        elif kind == "out of time before":
            account.before = at(lambda: setattr(context, "left_ms", 0))
        elif kind == "overtaken before":
            account.before = at(lambda: self._overtake(scenario, delivery))

    def _overtake(self, scenario: Scenario, delivery: Delivery) -> None:
        """Let another process handle the same event, whole, while this one waits."""
        before, self.account.before = self.account.before, None
        requests = list(self.account.requests)
        forget()
        with twin(scenario.handler):
            delivery.invoke(scenario.handler, Context())
        self.account.requests, self.account.before = requests, before

    def _final(self, scenario: Scenario, answer: Any) -> Final:
        stored = [
            (name, row)
            for name, row in self.account.rows()
            if name not in scenario.apart and not _may_differ(row)
        ]
        rows = Counter(_row(name, row, scenario.fresh) for name, row in stored)
        sent = () if scenario.apart else self._sent()
        return Final(rows, frozenset(sent), None if scenario.free_answer else _known(answer))

    def _sent(self) -> Iterator[str]:
        """Yield what left the account's functions, where each may be sent twice."""
        outside = self.account.outside
        yield from (f"queue {name}" for name in outside.queues)
        yield from (f"message to {name}: {_known(_without(body))}" for name, body in outside.messages)
        # An ending can be decided later, by what heals the crash.
        yield from (f"event {PARTS.sub('', TIME.sub('AT', _known(each)))}" for each in outside.events)
        yield from (f"object {_known(each)}" for each in found_in(outside.buckets))
        yield from (f"task {token}: {_known(end)}" for token, end in outside.tasks.items())
        yield from (f"call of {url} {_known(key)}" for url, key in outside.calls)


def _at(number: int) -> Callable[[Callable[[], None]], Hook]:
    def only(act: Callable[[], None]) -> Hook:
        def hook(request: int) -> None:
            if request == number:
                act()

        return hook

    return only


def _is_refused(answer: Any) -> bool:
    return isinstance(answer, tuple) and answer[0] >= 400


def _may_differ(row: dict[str, Any]) -> bool:
    """A crash can leave a failure without its reason, and events that are sent once more by a notice."""
    return MAY_DIFFER.fullmatch(str(row.get("sk", {}).get("S", ""))) is not None


def _row(table: str, row: dict[str, Any], fresh: frozenset[str]) -> str:
    without = fresh | FRESH_ROWS.get(table, set())
    kept = {name: value for name, value in sorted(row.items()) if name not in without}
    if table == "Pages" and _is_full(row):
        # Compaction only saves bytes: a full page means the same with its digits and without.
        kept = {name: value for name, value in kept.items() if not DIGITS.fullmatch(name)}
    return f"{table} {_known(kept)}"


def _is_full(page: dict[str, Any]) -> bool:
    whole = page.get("size", {"N": ENVIRONMENT["FANIN_PAGE_BITS"]})
    return "compacted" in page or page.get("n") == whole


def _known(value: Any) -> str:
    """Return *value* as text, with each id that a process has drawn replaced by the same text."""
    return DRAWN.sub(
        "DRAWN", value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    )


def _without(body: str) -> str:
    """Return a message without how often a delayed copy replaced it, and by whom and when it was sent."""
    try:
        read = json.loads(body)
    except ValueError:
        return body
    if isinstance(read, dict):
        read = {name: value for name, value in read.items() if name not in ("waits", "swept", "sentAt")}
    return json.dumps(read, sort_keys=True)
