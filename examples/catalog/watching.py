"""Follows the job's events and the batch's state until the batch is complete and everything is sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from examples.catalog.checks.awaiting import Awaited, Unanswered
from examples.catalog.checks.expectation import Expectation
from examples.catalog.errors import DemoError
from examples.catalog.output.live import View
from examples.catalog.output.progress import Sample
from examples.catalog.output.report import Sent
from examples.catalog.system.bundles import Bundled
from examples.catalog.system.deployed import Deployed
from examples.catalog.system.job import SparkJob
from fanin import Fanin
from fanin.client.model import Status

POLL_SECONDS = 1.0
OPENING_SECONDS = 300.0
STALLED_SECONDS = 120.0


@dataclass(slots=True)
class Watch:
    """What was observed: samples a second apart, and the job's events; *opened_at* in seconds since 1970."""

    batch_id: str
    total: int
    opened_at: float
    expected: Expectation
    samples: list[Sample] = field(default_factory=list)
    sent: Sent | None = None

    def receive(self, event: dict[str, Any]) -> None:
        """Record an event of the job."""
        if event["event"] == "sent":
            self.sent = Sent(event["sent"], event["copies"], event["retried"])

    @property
    def stalled_for(self) -> float:
        """Return the seconds since the last ack or sent message."""
        last = self.samples[-1]
        since = next(sample.at for sample in self.samples if sample.acked == last.acked)
        return last.at - since if self.sent else 0.0


def opened(job: SparkJob, expected: Expectation, check: Callable[[], None]) -> Watch:
    """Watch the batch that the job opens; *check* raises if the run can no longer complete."""
    deadline = time.monotonic() + OPENING_SECONDS
    while time.monotonic() < deadline:
        for event in job.events():
            if event["event"] == "opened":
                return Watch(event["batchId"], event["items"], time.time(), expected)
        check()
        time.sleep(POLL_SECONDS / 10)
    raise DemoError(f"the job opened no batch in {OPENING_SECONDS:.0f} s; is the machine very busy?")


def follow(watch: Watch, job: SparkJob, api: Fanin, deployed: Deployed, view: View) -> Status:
    """Show and keep a sample a second; return the status of the complete batch.

    Raises DemoError if there is no progress.
    """
    while True:
        for event in job.events():
            watch.receive(dict(event))
        status = api.status(watch.batch_id)
        watch.samples.append(_sample(watch, status, deployed))
        view.moved(watch.samples, watch.total)
        if status.is_complete and watch.sent:
            return status
        if watch.stalled_for > STALLED_SECONDS:
            raise DemoError(_stall(watch))
        time.sleep(POLL_SECONDS)


def _sample(watch: Watch, status: Status, deployed: Deployed) -> Sample:
    waiting, in_hand = deployed.depth()
    calls, jobs = deployed.calls(), deployed.jobs_done()
    bundled = Bundled.of(calls)
    awaited = Awaited(
        waiting=waiting,
        in_hand=in_hand,
        tasks=sum(watch.expected.bundled.values()) - bundled.tasks,
        bundles=Unanswered.of(calls),
        jobs=sum(watch.expected.queued.values()) - jobs,
    )
    return Sample(
        at=time.time() - watch.opened_at,
        acked=status.estimate,
        waiting=waiting,
        in_hand=in_hand,
        counters=deployed.counters(watch.batch_id),
        bundled=bundled.tasks,
        calls=bundled.calls,
        queued=jobs,
        awaited=awaited.reasons() if watch.sent and not status.is_complete else (),
    )


def _stall(watch: Watch) -> str:
    last = watch.samples[-1]
    return (
        f"no item was acked for {STALLED_SECONDS:.0f} s: {last.acked:,} of {watch.total:,} are, "
        f"{last.waiting:,} messages wait and {last.in_hand:,} are in hand; "
        "items that the workers refuse become dead-letter messages: use a catalog as in data/NOTICE.md"
    )
