from __future__ import annotations

import threading

from fanin.local.function_processes import invocation_limit
from fanin.local.function_processes.invocation_limit import LIMIT, InvocationLimit, limited

LONG = 300.0


class Callers:
    """Threads that hold a place of *limit* until they are let go; *inside* has their names in order."""

    def __init__(self, limit: InvocationLimit) -> None:
        self.limit, self.inside, self.gone = limit, [], {}
        self.threads: list[threading.Thread] = []
        self.entered = threading.Semaphore(0)

    def call(self, name: str) -> None:
        self.gone[name] = threading.Event()
        self.threads.append(threading.Thread(target=self._hold, args=(name,), daemon=True))
        self.threads[-1].start()

    def wait(self, name: str) -> None:
        """Call, and return when the caller waits."""
        before = len(self.limit._waiting)
        self.call(name)
        while len(self.limit._waiting) == before:
            threading.Event().wait(0.001)

    def enters(self) -> str:
        assert self.entered.acquire(timeout=60)
        return self.inside[-1]

    def leave(self, *names: str) -> None:
        for name in names:
            self.gone[name].set()

    def _hold(self, name: str) -> None:
        with self.limit.place():
            self.inside.append(name)
            self.entered.release()
            self.gone[name].wait()


def test_callers_beyond_the_limit_wait_and_enter_in_their_order():
    callers = Callers(InvocationLimit(2, LONG))
    for name in "ab":
        callers.call(name)
        assert callers.enters() == name
    for name in "cd":
        callers.wait(name)
    assert callers.inside == ["a", "b"]

    callers.leave("b")
    assert callers.enters() == "c"
    callers.leave("a")
    assert callers.enters() == "d"
    callers.leave(*"cd")
    for thread in callers.threads:
        thread.join(60)

    assert (callers.limit._inside, len(callers.limit._waiting)) == (0, 0)


class Line:
    """A limit of 1 and a patience of 1 s, with one inside and *waiting* ones, by a clock of its own."""

    def __init__(self, waiting: int) -> None:
        self.moment = 1.0
        self.limit = InvocationLimit(1, 1.0, lambda: self.moment)
        self.turns = [threading.Event() for _ in range(waiting)]
        self.limit._inside = 1
        self.limit._waiting.extend(self.turns)

    def entered(self) -> list[bool]:
        return [turn.is_set() for turn in self.turns]


def test_while_invocations_end_none_enters_beyond_the_limit_however_long_it_waited():
    line = Line(3)
    line.limit._leave()
    for line.moment in (1.9, 2.8):
        line.limit._grow()
        line.limit._leave()
    line.limit._grow()

    assert (line.limit._inside, line.entered()) == (1, [True, True, True])


def test_a_function_that_waits_for_itself_goes_on(monkeypatch):
    monkeypatch.setattr(invocation_limit, "InvocationLimit", lambda: InvocationLimit(1, 0.01))
    function = {"FunctionArn": "arn", "Version": "1"}

    def execute(_function, event, request_id):
        return {"depth": 1 + run(function, event - 1, request_id)["depth"] if event else 1}

    run = limited(execute)

    assert run(function, 2, "")["depth"] == 3


def test_beyond_the_limit_a_place_is_not_passed_on():
    limit, turn = InvocationLimit(1, LONG), threading.Event()
    limit._inside = 2  # as if it had grown
    limit._waiting.append(turn)

    limit._leave()
    assert (limit._inside, turn.is_set()) == (1, False)
    limit._leave()
    assert (limit._inside, turn.is_set()) == (1, True)


def test_each_function_and_version_has_a_limit_of_its_own():
    held, inside = threading.Event(), threading.Semaphore(0)

    def execute(function, _event, _request_id):
        inside.release()
        if function is slow:
            held.wait(60)
        return {}

    run = limited(execute)
    slow = {"FunctionArn": "arn", "Version": "slow"}
    callers = [threading.Thread(target=run, args=(slow, {}, "")) for _ in range(LIMIT + 1)]
    for each in callers:
        each.start()
    for _ in range(LIMIT):
        assert inside.acquire(timeout=60)

    assert run({"config": {**slow, "Version": "quick"}}, {}, "") == {}
    held.set()
    for each in callers:
        each.join(60)
