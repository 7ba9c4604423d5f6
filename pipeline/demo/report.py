"""The report of a run: its arithmetic and its lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from pipeline.demo.progress import Counters


@dataclass(frozen=True, slots=True)
class Sent:
    """What the job sent: *items* once each, *copies* of some beside, in so many *seconds*."""

    items: int
    copies: int
    retried: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """One run, in seconds: *seconds* from the first message to the last ack, *event_delay* from there."""

    dataset: str
    items: int
    chaos: bool
    seed: int
    messages: int
    copies: int
    send_retries: int
    deliveries: int
    failures_injected: int
    redeliveries: int
    duplicate_acks: int
    write_units: float
    write_units_an_item: float
    write_units_an_ack: float | None
    latency_p50: float
    latency_p99: float
    sending_seconds: float
    seconds: float
    items_a_second: float
    event_delay: float
    event_redeliveries: int
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything is as it was promised."""
        return not self.differences

    def facts(self) -> dict[str, Any]:
        """The report for a program."""
        return {"passed": self.passed, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Times:
    """When what happened: seconds as in Report; *latencies* from an item's message to the work on it."""

    latencies: Sequence[float]
    seconds: float
    event_delay: float


def made(
    *,
    dataset: str,
    chaos: bool,
    seed: int,
    sent: Sent,
    counters: Counters,
    times: Times,
    event_redeliveries: int,
    differences: Sequence[str],
) -> Report:
    """The report of a run from what was measured."""
    return Report(
        dataset=dataset,
        items=sent.items,
        chaos=chaos,
        seed=seed,
        messages=sent.items + sent.copies,
        copies=sent.copies,
        send_retries=sent.retried,
        deliveries=counters.deliveries,
        failures_injected=counters.faults,
        redeliveries=counters.deliveries - sent.items - sent.copies,
        duplicate_acks=counters.repeats,
        write_units=counters.write_units,
        write_units_an_item=round(counters.write_units / sent.items, 3),
        write_units_an_ack=_each(counters.ack_units, counters.deliveries - counters.faults),
        latency_p50=round(percentile(times.latencies, 50), 3),
        latency_p99=round(percentile(times.latencies, 99), 3),
        sending_seconds=round(sent.seconds, 1),
        seconds=round(times.seconds, 1),
        items_a_second=round(sent.items / times.seconds, 1),
        event_delay=round(times.event_delay, 3),
        event_redeliveries=event_redeliveries,
        differences=tuple(differences),
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The least of *values* that *percent* of them do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(percent / 100 * len(ordered)) - 1)] if ordered else 0.0


def _each(units: float | None, acks: int) -> float | None:
    return round(units / acks, 3) if units is not None and acks else None


def lines(report: Report) -> list[str]:
    """The report for a person."""
    told = {
        "items": f"{report.items:,}",
        "messages": f"{report.messages:,} sent, {report.copies:,} of them second copies on purpose",
        "deliveries": f"{report.deliveries:,}, {report.redeliveries:,} of them again after a failure",
        "failures on purpose": f"{report.failures_injected:,}",
        "duplicate acks": f"{report.duplicate_acks:,}, none of which counted",
        "DynamoDB write units": _units(report),
        "from send to work": f"p50 {report.latency_p50:.1f} s, p99 {report.latency_p99:.1f} s",
        "time": f"sent in {report.sending_seconds:.1f} s, acked in {report.seconds:.1f} s",
        "throughput": f"{report.items_a_second:,.0f} items/s",
        "completion event": f"{_times(report)}, {report.event_delay:.2f} s after the last ack",
    }
    return [f"  {name:<22}{text}" for name, text in told.items()]


def verdict(report: Report) -> list[str]:
    """PASS, or FAIL and what differs."""
    if report.passed:
        return [f"PASS: {report.items:,} items, one completion, and the index holds exactly the dataset"]
    return ["FAIL", *(f"  {difference}" for difference in report.differences)]


def _units(report: Report) -> str:
    text = f"{report.write_units:,.0f}, {report.write_units_an_item:.2f} an item with its row in the index"
    return text if report.write_units_an_ack is None else f"{text}, {report.write_units_an_ack:.2f} an ack"


def _times(report: Report) -> str:
    again = f", delivered {report.event_redeliveries} times more" if report.event_redeliveries else ""
    return f"one{again}"
