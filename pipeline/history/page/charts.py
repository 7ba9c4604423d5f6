"""Renders charts as SVG in the colours of the page: their scales, tick marks and shapes. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import accumulate

from pipeline.history.facts import ENDED_WELL, Bar, BatchFacts, Shares
from pipeline.history.page import format as formats
from pipeline.spark.format import count

CLOCK = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200)
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from *low* to *high* to coordinates from *first* to *last*; *high* is more than *low*."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.first + share * (self.last - self.first), 2)

    def holds(self, value: float | None) -> bool:
        return value is not None and self.low <= value <= self.high


def steps(high: float, about: int) -> list[float]:
    """Return round whole numbers from 0 to *high*, 1, 2 or 5 times a power of ten apart."""
    return _multiples(high, max(1.0, _round_up(high / about)))


def time_steps(high: float, about: int) -> list[float]:
    """Return round durations in seconds from 0 to *high*, in steps of clock units."""
    wanted = high / about
    step = next((step for step in CLOCK if step >= wanted), DAY * _round_up(wanted / DAY))
    return _multiples(high, wanted if wanted < CLOCK[0] else step)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= value * 0.999)


def _multiples(high: float, step: float) -> list[float]:
    return [round(step * at, 9) for at in range(math.floor(high / step + 1e-9) + 1)]


WIDTH, LEFT, RIGHT = 760, 62, 14
CURVE, GAP, RATE, FOOT = 180, 16, 56, 34
HISTOGRAM = 150


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled time of a batch, in seconds since the chart's origin."""

    kind: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class Clock:
    """The origin of a batch's chart, and its name."""

    origin: datetime
    name: str
    span: float

    @classmethod
    def of(cls, batch: BatchFacts) -> Clock | None:
        """Return the opening, or the first ack if it was much later; None without acks."""
        first, last = batch.first_ack_at, batch.last_ack_at
        if first is None or last is None:
            return None
        acking = max(batch.step, (last - first).total_seconds())
        before = (first - batch.opened_at).total_seconds() if batch.opened_at else None
        if before is not None and batch.opened_at and 0 <= before <= acking:
            return cls(batch.opened_at, "since the batch was opened", before + acking + batch.step)
        return cls(first, "since the first ack", acking + batch.step)

    def since(self, at: datetime | None) -> float | None:
        return None if at is None else (at - self.origin).total_seconds()

    def label(self, at: float) -> str:
        """Return a label of the time *at*, which may be before the origin."""
        if at >= 0:
            return formats.seconds(at)
        return f"{formats.seconds(-at)} before {self.name.removeprefix('since ')}"


def marks(batch: BatchFacts, clock: Clock) -> list[Mark]:
    """Return the known times of *batch*, in order.

    An event is never before its end: the end is known in milliseconds, the event in seconds, rounded down.
    """
    event_at = batch.event_at and max(batch.event_at, batch.ended_at or batch.event_at)
    ended = ("done", "complete") if batch.state == ENDED_WELL else ("lost", formats.state(batch.state))
    moments = [
        ("closed", "closed", batch.closed_at),
        ("tail", "99 % acked", batch.tail_at),
        ("last", "last ack", batch.last_ack_at),
        (*ended, batch.ended_at),
        ("event", "event on the bus", event_at),
    ]
    return [Mark(kind, name, since) for kind, name, at in moments if (since := clock.since(at)) is not None]


def acks_over_time(batch: BatchFacts, clock: Clock) -> str:
    """Return the chart of acks so far and, below it, of acks a second, over one time axis."""
    shown = [mark for mark in marks(batch, clock) if mark.kind != "last"]
    near = [mark.at for mark in shown if mark.at <= 1.25 * clock.span]
    time = Scale(0, max([clock.span, *near]) * 1.01, LEFT, WIDTH - RIGHT)
    top = max(batch.total or 0, batch.seen, 1)
    height = 14 + CURVE + GAP + RATE + FOOT
    parts = [
        *_curve(batch, clock, time, Scale(0, top * 1.04, 14 + CURVE, 14)),
        *_rate(batch, clock, time, 14 + CURVE + GAP),
        *_moments(shown, clock, time, 14 + CURVE + GAP + RATE),
        *_time_axis(time, height - FOOT, clock.name),
    ]
    return _svg(height, f"acks of {batch.name} over time", parts)


def _curve(batch: BatchFacts, clock: Clock, time: Scale, size: Scale) -> Iterator[str]:
    yield from _levels(size, size.high / 1.04)
    start = clock.since(batch.first_ack_at) or 0.0
    ends = [time(min(start + point.at + batch.step, time.high)) for point in batch.curve]
    acked = list(accumulate(point.acked for point in batch.curve))
    line = " ".join(f"L{x} {size(min(y, size.high))}" for x, y in zip(ends, acked, strict=True))
    begin = f"M{time(start)} {size(0)}"
    if ends:
        yield f'<path class="area" d="{begin} {line} L{ends[-1]} {size(0)} Z"/>'
        yield f'<path class="line" d="{begin} {line}"/>'
    failed = list(accumulate(point.failed for point in batch.curve))
    if failed and failed[-1]:
        line = " ".join(f"L{x} {size(min(y, size.high))}" for x, y in zip(ends, failed, strict=True))
        yield f'<path class="line failed" d="{begin} {line}"/>'
    if batch.total:
        y = size(batch.total)
        yield f'<line class="whole" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'


def _rate(batch: BatchFacts, clock: Clock, time: Scale, top: float) -> Iterator[str]:
    most = max((point.acked for point in batch.curve), default=0) / batch.step
    rate = Scale(0, max(most, 1e-9), top + RATE, top)
    start = clock.since(batch.first_ack_at) or 0.0
    for point in batch.curve:
        x, y = time(start + point.at), rate(point.acked / batch.step)
        width = max(0.8, time(min(start + point.at + batch.step, time.high)) - x - 0.6)
        caption = f"{formats.number(point.acked)} acks in {formats.seconds(batch.step)}"
        yield _bar("rate", x, y, width, top + RATE - y, caption)
    yield _text("tick end", LEFT - 8, top + 9, f"{formats.number(most)}/s")
    yield f'<line class="base" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{top + RATE}" y2="{top + RATE}"/>'


def _moments(shown: Iterable[Mark], clock: Clock, time: Scale, bottom: float) -> Iterator[str]:
    for mark in shown:
        if time.holds(mark.at):
            x, caption = time(mark.at), f"{mark.name}, {clock.label(mark.at)}"
            yield f'<line class="mark {mark.kind}" x1="{x}" x2="{x}" y1="8" y2="{bottom}">'
            yield f"<title>{escape(caption)}</title></line>"


def latency(bars: Sequence[Bar], shares: Shares) -> str:
    """Return the histogram of latencies; the last bar has the longest ones."""
    body = bars[-1].low if len(bars) > 1 and bars[-1].high > 1.5 * bars[-1].low else bars[-1].high
    high = max(body * 1.06, shares.p99 * 1.06, 1e-3)
    time = Scale(0, high, LEFT, WIDTH - RIGHT)
    bottom = 30 + HISTOGRAM
    size = Scale(0, max(bar.items for bar in bars) * 1.05, bottom, 30)
    parts = [*_levels(size, size.high / 1.05)]
    for bar in bars:
        x = time(min(bar.low, high))
        width = max(1.0, time(min(bar.high, high)) - x - 1)
        caption = (
            f"{formats.number(bar.items)} items: {formats.seconds(bar.low)} to {formats.seconds(bar.high)}"
        )
        kind = "late" if bar.low >= shares.p99 * 0.999 else "took"
        parts.append(_bar(kind, x, size(bar.items), width, bottom - size(bar.items), caption))
    parts += [*_shares(shares, time, bottom), *_time_axis(time, bottom, _BASES[shares.basis])]
    return _svg(bottom + FOOT, "latency of the items", parts)


_BASES = {
    "sent": "from the item's message to its ack",
    "closed": "from the batch's close to the item's ack",
    "opened": "from the batch's opening to the item's ack",
}


def _shares(shares: Shares, time: Scale, bottom: float) -> Iterator[str]:
    """Yield the marks of the percentiles, each label a line lower so that none hides another."""
    for row, (name, at) in enumerate((("p50", shares.p50), ("p95", shares.p95), ("p99", shares.p99))):
        x = time(at)
        yield f'<line class="mark share" x1="{x}" x2="{x}" y1="14" y2="{bottom}"/>'
        anchor, offset = ("end", -4) if x > WIDTH / 2 else ("start", 4)
        yield _text(f"label {anchor}", x + offset, 10 + 11 * row, f"{name} {formats.seconds(at)}")


def sizes(pairs: Sequence[tuple[int, int]]) -> str:
    """Return the chart of bundle sizes."""
    last = max(size for size, _ in pairs)
    bottom = 14 + HISTOGRAM
    along = Scale(0.5, max(last, 10) + 0.5, LEFT, WIDTH - RIGHT)
    high = Scale(0, max(bundles for _, bundles in pairs) * 1.05, bottom, 14)
    parts = [*_levels(high, high.high / 1.05)]
    for size, bundles in pairs:
        x = along(size - 0.5)
        caption = f"{count(bundles, 'bundle')} of {size}"
        parts.append(
            _bar(
                "took",
                x,
                high(bundles),
                max(1.0, along(size + 0.5) - x - 1),
                bottom - high(bundles),
                caption,
            )
        )
    for mark in steps(max(last, 10), 8)[1:]:
        parts.append(_text("tick middle", along(mark), bottom + 15, formats.number(mark)))
    parts.append(_text("axis middle", (LEFT + WIDTH - RIGHT) / 2, bottom + 31, "members of a bundle"))
    return _svg(bottom + FOOT, "sizes of bundles", parts)


def _levels(size: Scale, high: float) -> Iterator[str]:
    """Yield horizontal grid lines, each with its number."""
    for level in steps(high, 4) if high >= 1 else [0.0]:
        y = size(level)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield _text("tick end", LEFT - 8, y + 3.5, formats.number(level))


def _time_axis(time: Scale, bottom: float, name: str) -> Iterator[str]:
    for mark in time_steps(time.high, 8):
        yield _text("tick middle", time(mark), bottom + 15, formats.seconds(mark) if mark else "0")
    yield _text("axis middle", (LEFT + WIDTH - RIGHT) / 2, bottom + 31, name)


def _bar(kind: str, x: float, y: float, width: float, height: float, caption: str) -> str:
    place = f'x="{x}" y="{y:.2f}" width="{width:.2f}" height="{max(0.0, height):.2f}"'
    return f'<rect class="{kind}" {place} rx="1"><title>{escape(caption)}</title></rect>'


def _text(kind: str, x: float, y: float, caption: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(caption)}</text>'


def _svg(height: float, name: str, parts: Iterable[str]) -> str:
    opening = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(name)}">'
    return opening + "".join(parts) + "</svg>"
