"""What a way costs: the tables, the messages of the work, and what brings the acks to the tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fanin.cost import Bill, Usage
from fanin.cost.fan_out import fan_out
from lab.cost.month import SAMPLED as TRACED
from lab.cost.month import milliseconds
from lab.ways_to_ack.measuring import Measured
from lab.ways_to_ack.ways import QUEUE

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Function:
    """The function that acks the messages of the acks queue: its *gigabytes*, and the *log_gb* of a call."""

    gigabytes: float
    log_gb: float


@dataclass(frozen=True, slots=True)
class Row:
    """A way by item: requests, units, refused writes, bytes; dollars of a million items."""

    name: str
    requests: float
    writes: float
    reads: float
    refused: float
    again: float
    sent: float
    returned: float
    tables: float
    dollars: float

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def row_of(measured: Measured, function: Function) -> Row:
    """Return the row of a way."""
    counts, items = measured.counts, measured.items
    return Row(
        measured.way.name,
        counts.requests / items,
        counts.writes / items,
        counts.reads / items,
        counts.refused / items,
        measured.returned * measured.way.chunk / items,
        counts.sent / items,
        counts.returned / items,
        Bill(counts.usage).dollars * MILLION / items,
        Bill(usage_of(measured, function)).dollars * MILLION / items,
    )


def usage_of(measured: Measured, function: Function) -> Usage:
    """Return all units of a way but those of the consumers themselves."""
    way, items = measured.way, measured.items
    found = measured.counts.usage + _messages(fan_out(items, 0, way.chunk))
    if way.through == QUEUE:
        found += _messages(fan_out(items)) + _invocations(measured, function)
    return found


def _messages(usage: Usage) -> Usage:
    """Return the messages of a fan-out, without its acks."""
    return Usage({"queue_request": usage.units["queue_request"]})


def _invocations(measured: Measured, function: Function) -> Usage:
    """Return the calls of the function that acks: a request takes 8 ms, and X-Ray records some calls."""
    calls = measured.deliveries
    seconds = milliseconds(measured.counts.requests / calls) / 1000
    first = min(calls, measured.seconds)
    return Usage(
        {
            "invocation": calls,
            "gb_second": calls * seconds * function.gigabytes,
            "log_gb": calls * function.log_gb,
            "log_gb_month": calls * function.log_gb,
            "trace": first + TRACED * (calls - first),
        }
    )
