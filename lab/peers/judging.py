"""What happened in a run, by its log: was the end reported early, twice, never or once. Pure.

Each worker appends a line to one file when it has done an item, before it acks it, and each report of the
end appends one too. Appends are atomic, so the file has one order for all processes::

    work 17 5213847113
    end 0 5213991245
    result 17 5214021876

The second part is the item, or the id of the end: ends with one id are one. The third is the monotonic clock
in nanoseconds, which all processes of a machine share. The work of the end writes a line for each result
that it was given, with its item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

EARLY, TWICE, NEVER, ONCE = "early", "twice", "never", "once"
WORK, END, RESULT = "work", "end", "result"
FROM, UNTIL = 0.1, 0.9
NANO = 1e-9


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log: *kind* is ``WORK``, ``END`` or ``RESULT``, *at* in seconds."""

    kind: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened in a run.

    *verdict*: ``ONCE``, ``NEVER``, or ``EARLY``, ``TWICE`` or both. *missing*: items that were not done at
    the first end, or at all. *ends*: different ones. *rate*: items a second from a tenth of them to nine
    tenths, so that neither the start of the workers nor the wait for what a killed one had is in it. *step*:
    seconds from the last work before the end to the end, None if it came early or never.
    """

    verdict: str
    missing: int
    ends: int
    deliveries: int
    rate: float
    step: float | None


@dataclass(frozen=True, slots=True)
class Handed:
    """The results that the end was given.

    *more*: items of which it got more than one; *without*: items of which it got none. *reading*: seconds
    from the last work before the first end to the last result; None without both.
    """

    more: int
    without: int
    reading: float | None


def parsed(text: str) -> list[Line]:
    """Return the whole lines of a log."""
    fields = (line.split(" ") for line in text[: text.rfind("\n") + 1].splitlines())
    return [Line(kind, name, int(at) * NANO) for kind, name, at in fields]


def judged(lines: Iterable[Line], items: int) -> Outcome:
    """Return what happened in a run of *items*, whose names are different."""
    ended_at: dict[str, float] = {}
    ends: dict[str, float] = {}
    deliveries, missing, before_end = 0, items, 0.0
    for line in lines:
        if line.kind == WORK:
            deliveries += 1
            ended_at.setdefault(line.name, line.at)
            before_end = before_end if ends else line.at
            continue
        if line.kind == RESULT:
            continue
        if not ends:
            missing = items - len(ended_at)
        ends.setdefault(line.name, line.at)
    missing = missing if ends else items - len(ended_at)
    verdict = _verdict(len(ends), missing)
    step = next(iter(ends.values())) - before_end if ends and not missing else None
    return Outcome(verdict, missing, len(ends), deliveries, _rate(ended_at, items), step)


def judged_results(lines: Sequence[Line], items: int) -> Handed:
    """Return which results the end of *items* was given; what a second end is given counts too."""
    ends = [line.at for line in lines if line.kind == END]
    given = [line for line in lines if line.kind == RESULT]
    of_item = Counter(line.name for line in given)
    before = [line.at for line in lines if line.kind == WORK and ends and line.at <= ends[0]]
    reading = given[-1].at - before[-1] if given and before else None
    return Handed(sum(count > 1 for count in of_item.values()), items - len(of_item), reading)


def _verdict(ends: int, missing: int) -> str:
    if not ends:
        return NEVER
    wrongs = [EARLY] * (missing > 0) + [TWICE] * (ends > 1)
    return ", ".join(wrongs) or ONCE


def _rate(ended_at: dict[str, float], items: int) -> float:
    """Return the items a second between a tenth and nine tenths of *items*, 0 if they were never done."""
    times = list(ended_at.values())
    first, last = round(items * FROM), round(items * UNTIL) - 1
    if last >= len(times) or last <= first:
        return 0.0
    return (last - first) / max(times[last] - times[first], NANO)
