"""What must hold when a schedule has settled: nothing lost, nothing twice, each batch ended once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.soak.schedules.flows import Expected, outstanding
from tests.soak.wire.site import Site

SETTLED_SECONDS = 300.0
SWEEP_SECONDS = 10.0
READERS = 8
LATE_SECONDS = 3.0
"""By then each late copy of a request has been applied."""


@dataclass
class Referee:
    """Judges schedules on *site*; ``violations`` has a line for each broken promise."""

    site: Site
    violations: list[str] = field(default_factory=list)
    report: Callable[[str], None] = lambda _: None

    def judge(self, all_expected: Sequence[Expected]) -> None:
        """Wait until each batch has ended, and compare what is stored with what was expected."""
        flat = [each for one in all_expected for each in (*one.parents, one)]
        with ThreadPoolExecutor(READERS) as readers:
            self._wait_for(flat, readers)
            self.report("the batches have ended")
            time.sleep(LATE_SECONDS)
            for number, found in enumerate(readers.map(self._judged, flat), 1):
                self.violations += found
                self.report(f"{number} of {len(flat)} batches are judged")

    def _judged(self, each: Expected) -> list[str]:
        where = f"{each.flow} {each.seed} (batch {each.batch})"
        return [f"{where}: {wrong}" for wrong in (*each.wrong, *self._wrong(each))]

    def _wait_for(self, expected: Sequence[Expected], readers: ThreadPoolExecutor) -> None:
        give_up, left, swept = time.monotonic() + SETTLED_SECONDS, list(expected), 0.0
        while left and time.monotonic() < give_up:
            states = readers.map(self._state, left)
            left = [each for each, state in zip(left, states, strict=True) if state == "CLOSED"]
            if left:
                self.report(f"{len(left)} of {len(expected)} batches have not ended")
                swept = self._swept(swept)
                time.sleep(1)

    def _swept(self, before: float) -> float:
        """Start the sweeps if the last ones are long ago; return when they were started."""
        if time.monotonic() - before < SWEEP_SECONDS:
            return before
        self.site.sweep()
        return time.monotonic()

    def _state(self, expected: Expected) -> str:
        return str(self.site.api.get(f"/v1/batches/{expected.batch}?progress=none")["state"])

    def _wrong(self, expected: Expected) -> Iterator[str]:
        found = self.site.api.get(f"/v1/batches/{expected.batch}")
        if (found["state"], found["total"]) != ("COMPLETE", len(expected.items)):
            yield f"{found['state']} with {found['total']} items, not {len(expected.items)}: {found}"
            yield f"outstanding {sorted(outstanding(self.site, expected.batch))}"
            return
        failed = outstanding(self.site, expected.batch, "failures")
        if failed != expected.failed:
            yield f"failed {sorted(failed)}, not {sorted(expected.failed)}"
        events = {each["eventId"] for each in self.site.ending_events(expected.batch)}
        if len(events) != 1:
            yield f"ending events {events}"
        yield from self._tasks(expected)
        yield from self._jobs(expected)

    def _tasks(self, expected: Expected) -> Iterator[str]:
        done = self.site.batch_api.successes()
        for task in expected.tasks:
            state = self.site.api.get(f"/v1/tasks/{task}")["state"]
            if (state, done[task]) != ("SUCCEEDED", 1):
                yield f"task {task} is {state}, and was done {done[task]} times"

    def _jobs(self, expected: Expected) -> Iterator[str]:
        """An outcome is written in the transaction of the ack, on condition that there is none."""
        for job in sorted(set(expected.jobs) - self.site.with_outcome(expected.jobs)):
            yield f"job {job} has no outcome"


def summary(counts: Counter[str]) -> str:
    """Return counts as text, the largest first."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
