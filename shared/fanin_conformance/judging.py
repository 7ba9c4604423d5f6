"""Runs the cases, each in a bounded time, and says how each ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from fanin_conformance.adapter import Adapter, NotSupported, Refused
from fanin_conformance.case import Case
from fanin_conformance.trial import Broken, Effort, Trial

HUNG_MAX = 3
"""Cases in a row without an end, after which the others are not run."""


class Verdict(StrEnum):
    """How a case ended. An error: the tracker, or the adapter, failed where it should have answered."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    NOT_SUPPORTED = "not supported"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of one case: the verdict, what was seen, and the seconds that it took."""

    case: Case
    verdict: Verdict
    seen: str
    seconds: float
    hung: bool = False

    @property
    def is_bad(self) -> bool:
        """Whether the case counts against the tracker."""
        return self.verdict in (Verdict.FAIL, Verdict.ERROR)


def judge(
    tracker: Adapter,
    cases: Iterable[Case],
    effort: Effort | None = None,
    report: Callable[[Judgement], None] = lambda _: None,
) -> list[Judgement]:
    """Run *cases* on *tracker* and return their judgements; *report* is called with each."""
    effort = effort or Effort()
    found: list[Judgement] = []
    for case in cases:
        if len(found) >= HUNG_MAX and all(each.hung for each in found[-HUNG_MAX:]):
            skipped = f"not run: {HUNG_MAX} cases in a row did not end"
            found.append(Judgement(case, Verdict.ERROR, skipped, 0.0, hung=True))
        else:
            found.append(judged(tracker, case, effort))
        report(found[-1])
    return found


def judged(tracker: Adapter, case: Case, effort: Effort) -> Judgement:
    """Run one case in a thread; a case that does not end in its time fails, and its thread is left."""
    limit = effort.race_timeout if case.is_race else effort.timeout
    limit = effort.large_timeout if case.is_large else limit
    ended: list[tuple[Verdict, str]] = []
    thread = threading.Thread(target=lambda: ended.append(_ended(tracker, case, effort)), daemon=True)
    started = time.monotonic()
    thread.start()
    thread.join(limit)
    seconds = time.monotonic() - started
    if not ended:
        return Judgement(case, Verdict.FAIL, f"no end within {limit:g} s", seconds, hung=True)
    return Judgement(case, *ended[0], seconds)


def _ended(tracker: Adapter, case: Case, effort: Effort) -> tuple[Verdict, str]:
    """Run the case; return its verdict and what was seen."""
    trial = Trial(tracker, effort)
    try:
        case.play(trial)
    except Broken as broken:
        return Verdict.FAIL, str(broken)
    except NotSupported as lack:
        return Verdict.NOT_SUPPORTED, str(lack)
    except Refused as refusal:
        return Verdict.FAIL, f"refused: {refusal}"
    except Exception as error:  # an adapter raises what its library does
        return Verdict.ERROR, f"{type(error).__name__}: {error}"
    return Verdict.PASS, ", ".join(trial.seen)
