"""Many schedules at once on one run: each is a flow with a seed, under the faults of one proxy."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lab.local.grouping import progress
from tests.soak.schedules.flows import FLOWS, Expected, Flow
from tests.soak.schedules.referee import Referee
from tests.soak.wire.site import Site

SWEEP_SECONDS = 10.0


@dataclass
class Result:
    """The outcome of the schedules. *errors*: of schedules that did not come to their end."""

    schedules: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    requests: int = 0
    violations: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)


def run(site: Site, count: int, threads: int) -> Result:
    """Run *count* schedules, at most *threads* at once, and judge them when all have acted."""
    result = Result()
    ended = threading.Event()
    sweeper = threading.Thread(target=_sweep, args=(site, ended), daemon=True)
    sweeper.start()
    try:
        with ThreadPoolExecutor(threads) as pool:
            acted = list(pool.map(lambda seed: _act(site, seed, result), _seeds(site.proxy.seed, count)))
    finally:
        ended.set()
        sweeper.join()
    result.faults, result.requests = site.proxy.injected(), site.proxy.requests
    site.proxy.calm.set()
    referee = Referee(site, report=progress)
    referee.judge([each for each in acted if each is not None])
    result.violations += referee.violations
    result.odd, result.statuses = site.api.odd, site.api.statuses
    return result


def _seeds(seed: int, count: int) -> Sequence[int]:
    return [random.Random(f"{seed}:{number}").randrange(10**9) for number in range(count)]


def _act(site: Site, seed: int, result: Result) -> Expected | None:
    act = FLOWS[seed % len(FLOWS)]
    try:
        expected = act(Flow(site, seed))
    except Exception as error:
        result.violations.append(f"{act.__name__} {seed}: {type(error).__name__}: {error}"[:600])
        return None
    result.schedules[act.__name__] += 1
    progress(f"{result.schedules.total()} schedules, {site.proxy.injected().total()} faults")
    return expected


def _sweep(site: Site, ended: threading.Event) -> None:
    """Sweep each ten seconds, in place of each minute, so that schedules settle soon."""
    while not ended.wait(SWEEP_SECONDS):
        site.sweep()
