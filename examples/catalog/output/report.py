"""Computes and formats the report of a run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from examples.catalog.output.progress import Counters
from examples.catalog.system.bundles import Bundled
from pipeline.shared_by_jobs.progress import count


@dataclass(frozen=True, slots=True)
class Sent:
    """Messages that the job sent: *items* once each, and *copies* of some."""

    items: int
    copies: int
    retried: int


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: *latencies* from an item's message to its work; from the first message, *sending* to the last
    one, and *total* to the last ack.
    """

    latencies: Sequence[float]
    sending: float
    total: float
    event_delay: float


@dataclass(frozen=True, slots=True)
class Report:
    """The measurements of one run.

    *queued*: items done by jobs. *event_redeliveries*: deliveries of the event beyond the first.
    """

    dataset: str
    chaos: bool
    seed: int
    sent: Sent
    counters: Counters
    bundled: Bundled
    queued: int
    times: Times
    event_redeliveries: int
    differences: Sequence[str]

    @property
    def passed(self) -> bool:
        """Return whether the run passed."""
        return not self.differences

    @property
    def messages(self) -> int:
        """Return the number of messages sent."""
        return self.sent.items + self.sent.copies

    @property
    def redeliveries(self) -> int:
        """Return the number of repeated deliveries."""
        return self.counters.deliveries - self.messages

    @property
    def units_an_item(self) -> float:
        """Return the write units, including those of the index."""
        return self.counters.write_units / self.sent.items

    @property
    def units_an_ack(self) -> float:
        """Return the write units of the workers' acks; 0 without acks."""
        return self.counters.ack_units / self.counters.acks if self.counters.acks else 0.0

    @property
    def registered_again(self) -> int:
        """Return the repeated registrations of tasks."""
        return self.counters.registrations - self.bundled.tasks

    @property
    def added_again(self) -> int:
        """Return the repeated adds of jobs."""
        return self.counters.jobs - self.queued

    @property
    def items_a_second(self) -> float:
        """Return the throughput from the first message to the last ack."""
        return self.sent.items / self.times.total

    def latency(self, percent: float) -> float:
        """Return the percentile *percent* of the seconds from message to work."""
        return percentile(self.times.latencies, percent)

    def facts(self) -> dict[str, Any]:
        """Return the report as JSON fields; times in seconds."""
        return {
            "passed": self.passed,
            "differences": list(self.differences),
            "dataset": self.dataset,
            "chaos": self.chaos,
            "seed": self.seed,
            "items": self.sent.items,
            "messages": self.messages,
            "copies": self.sent.copies,
            "sendRetries": self.sent.retried,
            "deliveries": self.counters.deliveries,
            "failuresOnPurpose": self.counters.faults,
            "redeliveries": self.redeliveries,
            "duplicateAcks": self.counters.repeats,
            "writeUnits": self.counters.write_units,
            "writeUnitsAnItem": round(self.units_an_item, 3),
            "writeUnitsAnAck": round(self.units_an_ack, 3),
            "bundled": {**self.bundled.facts(), "registeredAgain": self.registered_again},
            "queued": {"jobs": self.queued, "addedAgain": self.added_again},
            "latency": {f"p{percent}": round(self.latency(percent), 3) for percent in (50, 99)},
            "sendingSeconds": round(self.times.sending, 3),
            "seconds": round(self.times.total, 3),
            "itemsASecond": round(self.items_a_second, 1),
            "eventDelaySeconds": round(self.times.event_delay, 3),
            "eventRedeliveries": self.event_redeliveries,
        }


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the least of *values* that *percent* of them do not exceed; 0 if there are none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(percent / 100 * len(ordered)) - 1)] if ordered else 0.0


def lines(report: Report) -> list[str]:
    """Return the lines of the report."""
    counters, times = report.counters, report.times
    rows = {
        "items": f"{report.sent.items:,}",
        "messages": f"{report.messages:,} sent, {report.sent.copies:,} of them second copies on purpose",
        "deliveries": f"{counters.deliveries:,}, {report.redeliveries:,} of them again after a failure",
        "failures on purpose": f"{counters.faults:,}",
        "duplicate acks": f"{counters.repeats:,}, none of which counted",
        **_stages(report),
        "DynamoDB write units": _units(report),
        "from send to work": f"p50 {report.latency(50):.1f} s, p99 {report.latency(99):.1f} s",
        "time": f"sent in {times.sending:.1f} s, acked in {times.total:.1f} s",
        "throughput": f"{report.items_a_second:,.0f} items/s",
        "completion event": f"{_times(report)}, {times.event_delay:.2f} s after the last ack",
    }
    return [f"  {name:<22}{text}" for name, text in rows.items()]


def verdict(report: Report) -> list[str]:
    """Return PASS, or FAIL and what differs."""
    if report.passed:
        each = ", each bundled item was in one call" if report.bundled.tasks else ""
        each += ", each job ended once" if report.queued else ""
        return [
            f"PASS: {report.sent.items:,} items, one completion, the index holds exactly the dataset{each}"
        ]
    return ["FAIL", *(f"  {difference}" for difference in report.differences)]


def _stages(report: Report) -> dict[str, str]:
    """Return the lines on bundling and on the work queue, if anything was bundled or queued."""
    bundled = report.bundled
    jobs = f"a job each, acked together with its index row, {report.added_again:,} added again"
    queued = {"work queue": f"{report.queued:,} of the items: {jobs}"} if report.queued else {}
    if not bundled.tasks:
        return queued
    return {
        "bundled": f"{bundled.tasks:,} of the items: tasks in {count(bundled.bundles, 'bundle')} of "
        f"{bundled.mean_size:.0f} on average, {report.registered_again:,} registered again",
        "batch API": f"{count(bundled.calls, 'call')} in place of {bundled.tasks:,}: "
        f"{bundled.saved:,} saved; {bundled.refused:,} refused (429), "
        f"{bundled.lost:,} answers lost on purpose",
        **queued,
    }


def _units(report: Report) -> str:
    units = f"{report.counters.write_units:,.0f} of the workers"
    return f"{units}, {report.units_an_item:.2f} an item with its row, {report.units_an_ack:.2f} an ack"


def _times(report: Report) -> str:
    again = (
        f", delivered {count(report.event_redeliveries, 'time')} more" if report.event_redeliveries else ""
    )
    return f"one{again}"
