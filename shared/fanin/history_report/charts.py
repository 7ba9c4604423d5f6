"""Draws the charts of the page as SVG elements, with captions under the pointer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from matplotlib import rc_context
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from fanin.history_report.drawing import LIGHT, STYLE, Drawing
from fanin.history_report.facts import Bar, BatchFacts, Shares
from fanin.history_report.format import count, number, rate, seconds
from fanin.history_report.moments import Clock, marks

CLOCK = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200)
"""Distances of the marks of a time axis, in seconds; beyond them, whole days."""
DAY = 86_400.0
CURVE, HISTOGRAM, SIZES = (640, 290), (410, 290), (1050, 210)
"""The width and the height of each chart, in points."""
BASES = {
    "sent": "from the item's message to its ack",
    "closed": "from the batch's close to the item's ack",
    "opened": "from the batch's opening to the item's ack",
}
LINES: dict[str, Any] = {
    "closed": {"color": LIGHT["soft"], "linestyle": (0, (4, 3))},
    "tail": {"color": LIGHT["late"]},
    "done": {"color": LIGHT["good"]},
    "lost": {"color": LIGHT["bad"]},
    "event": {"color": LIGHT["good"], "linestyle": (0, (1, 2))},
}
"""The line of each kind of mark."""


@rc_context(STYLE)
def acks_over_time(batch: BatchFacts, clock: Clock) -> str:
    """Return the chart of acks so far and, below it, of acks a second, over one time axis."""
    drawing = Drawing(*CURVE, heights=(3.2, 1))
    total, speed = drawing.plots
    shown = [mark for mark in marks(batch, clock) if mark.kind in LINES and mark.at >= 0]
    near = [mark.at for mark in shown if mark.at <= 1.25 * clock.span]
    high = max([clock.span, *near]) * 1.01
    _draw_total(total, batch, clock)
    _draw_rate(drawing, speed, batch, clock)
    for mark in shown:
        if mark.at <= high:
            for plot in (total, speed):
                line = plot.axvline(mark.at, linewidth=1.5, **LINES[mark.kind])
                drawing.caption(line, f"{mark.name}, {clock.label(mark.at)}")
    _time_axis(speed, high, clock.name)
    return drawing.svg(f"acks of {batch.name} over time")


def _draw_total(plot: Any, batch: BatchFacts, clock: Clock) -> None:
    begin = clock.since(batch.first_ack_at) or 0.0
    times = [begin, *(begin + point.at + batch.step for point in batch.curve)]
    acked = list(accumulate((point.acked for point in batch.curve), initial=0))
    failed = list(accumulate((point.failed for point in batch.curve), initial=0))
    plot.fill_between(times, acked, color=LIGHT["acks"], alpha=0.13, linewidth=0)
    plot.plot(times, acked, color=LIGHT["acks"], linewidth=2, gid="acked")
    if failed[-1]:
        plot.plot(times, failed, color=LIGHT["bad"], linewidth=1.6, gid="failed")
    if batch.total:
        plot.axhline(batch.total, color=LIGHT["soft"], linewidth=1, linestyle=(0, (1, 3)))
    _count_axis(plot, max(batch.total or 0, batch.seen, 1) * 1.04)


def _draw_rate(drawing: Drawing, plot: Any, batch: BatchFacts, clock: Clock) -> None:
    begin = clock.since(batch.first_ack_at) or 0.0
    times = [begin + point.at for point in batch.curve]
    rates = [point.acked / batch.step for point in batch.curve]
    bars = plot.bar(times, rates, batch.step * 0.88, align="edge", color=LIGHT["rate"])
    for bar, point in zip(bars, batch.curve, strict=True):
        drawing.caption(bar, f"{number(point.acked)} acks in {seconds(batch.step)}")
    most = max(rates, default=0.0)
    plot.set_yticks([most], [f"{rate(most)}/s"])
    plot.set_ylim(0, max(most, 1e-9) * 1.08)


@rc_context(STYLE)
def latency(bars: Sequence[Bar], shares: Shares) -> str:
    """Return the histogram of latencies; the last bar has the longest ones."""
    drawing = Drawing(*HISTOGRAM)
    (plot,) = drawing.plots
    body = bars[-1].low if len(bars) > 1 and bars[-1].high > 1.5 * bars[-1].low else bars[-1].high
    high = max(body * 1.06, shares.p99 * 1.06, 1e-3)
    widths = [max(high / 400, (min(bar.high, high) - bar.low) * 0.9) for bar in bars]
    colours = [LIGHT["late" if bar.low >= shares.p99 * 0.999 else "acks"] for bar in bars]
    counts = [bar.items for bar in bars]
    drawn = plot.bar([bar.low for bar in bars], counts, widths, align="edge", color=colours, alpha=0.85)
    for shape, bar in zip(drawn, bars, strict=True):
        drawing.caption(shape, f"{number(bar.items)} items: {seconds(bar.low)} to {seconds(bar.high)}")
    _draw_shares(plot, shares, high)
    _count_axis(plot, max(counts) * 1.3)
    _time_axis(plot, high, BASES[shares.basis], most=5)
    return drawing.svg("latency of the items")


def _draw_shares(plot: Any, shares: Shares, high: float) -> None:
    """Draw the percentiles, each label a line lower so that none hides another."""
    for row, (name, at) in enumerate((("p50", shares.p50), ("p95", shares.p95), ("p99", shares.p99))):
        plot.axvline(at, color=LIGHT["soft"], linewidth=1, linestyle=(0, (3, 3)))
        side, offset = ("right", -4) if at > high / 2 else ("left", 4)
        plot.annotate(
            f"{name} {seconds(at)}",
            (at, 1),
            (offset, -2 - 14 * row),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=side,
            va="top",
            fontweight="bold",
            bbox={"facecolor": LIGHT["card"], "edgecolor": "none", "pad": 1},
        )


@rc_context(STYLE)
def sizes(pairs: Sequence[tuple[int, int]]) -> str:
    """Return the chart of bundle sizes."""
    drawing = Drawing(*SIZES)
    (plot,) = drawing.plots
    members, counts = zip(*pairs, strict=True)
    drawn = plot.bar(members, counts, 0.88, color=LIGHT["acks"], alpha=0.85)
    for shape, (size, bundles) in zip(drawn, pairs, strict=True):
        drawing.caption(shape, f"{count(bundles, 'bundle')} of {size}")
    _count_axis(plot, max(counts) * 1.05)
    plot.set_xlim(0.4, max(10, *members) + 0.6)
    plot.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    plot.set_xlabel("members of a bundle")
    return drawing.svg("sizes of bundles")


def _count_axis(plot: Any, high: float) -> None:
    plot.set_ylim(0, high)
    plot.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def _time_axis(plot: Any, high: float, name: str, most: int = 8) -> None:
    """Draw an axis of seconds with at most so many marks after 0."""
    step = next((step for step in CLOCK if most * step >= high), math.ceil(high / most / DAY) * DAY)
    plot.set_xlim(0, high)
    plot.xaxis.set_major_locator(MultipleLocator(step if high > CLOCK[0] else high / 4))
    plot.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value) if value > 0 else "0"))
    plot.set_xlabel(name)
