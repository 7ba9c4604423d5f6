"""Draws a run: sent and acked over time, the rate, and the effects of chaos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from examples.catalog.output.progress import Sample
from fanin.history_report.drawing import LIGHT, STYLE
from pipeline.shared_by_jobs.progress import count

SENT, ACKED, COMPLETED = LIGHT["soft"], LIGHT["acks"], LIGHT["good"]
FAULT, REPEAT = LIGHT["bad"], LIGHT["late"]
BUNDLED, QUEUED = "#8250df", "#0a7d8c"

ABOVE: Any = {"loc": "lower left", "bbox_to_anchor": (-0.01, 0.97)}
"""Places a legend above its axes, where no line can run into it."""
WIDEST = 0.8
"""A legend's largest share of the figure's width: a wider one makes its plot narrower and is cut off."""


@dataclass(frozen=True, slots=True)
class Story:
    """The data of the picture; times in seconds from the first message; *sent*: one per item."""

    title: str
    total: int
    sent: Sequence[float]
    samples: Sequence[Sample]
    completed: float
    event: float


@dataclass(frozen=True, slots=True)
class Second:
    """Rates per second between two samples: acks, faults, repeated acks, items done in bundles and jobs."""

    begin: float
    width: float
    acks: float
    faults: float
    repeats: float
    bundled: float
    queued: float


def seconds(samples: Sequence[Sample]) -> list[Second]:
    """Return the rates between each sample and the next."""
    return [_between(one, other) for one, other in pairwise(samples) if other.at > one.at]


def _between(one: Sample, other: Sample) -> Second:
    width = other.at - one.at
    return Second(
        begin=one.at,
        width=width,
        acks=(other.acked - one.acked) / width,
        faults=(other.counters.faults - one.counters.faults) / width,
        repeats=(other.counters.repeats - one.counters.repeats) / width,
        bundled=(other.bundled - one.bundled) / width,
        queued=(other.queued - one.queued) / width,
    )


def draw(story: Story, path: Path) -> None:
    """Draw *story* into the PNG at *path*."""
    with rc_context(STYLE):
        figure_of(story).savefig(path)


def figure_of(story: Story) -> Any:
    """The figure of *story*: three plots over one axis of time."""
    figure = Figure(figsize=(10, 7.5), dpi=120, layout="constrained")
    total, rate, chaos = figure.subplots(3, 1, sharex=True, height_ratios=(3, 1.2, 1.2))
    figure.suptitle(story.title, x=0.01, ha="left", fontsize=13, fontweight="bold", wrap=True)
    _draw_total(total, story)
    _draw_rate(rate, story)
    _draw_chaos(chaos, story)
    figure.align_ylabels()
    return figure


def _add_legend(axes: Any) -> None:
    """Add the legend in as many columns as fit."""
    columns = len(axes.get_legend_handles_labels()[1])
    while axes.legend(**ABOVE, ncols=columns).get_window_extent().width > WIDEST * axes.figure.bbox.width:
        if columns == 1:
            break
        columns -= 1


def _draw_total(axes: Any, story: Story) -> None:
    sent = sorted(story.sent)
    axes.plot(
        sent,
        range(1, len(sent) + 1),
        color=SENT,
        linewidth=2,
        label=f"sent to SQS by Spark, each item once ({len(sent):,})",
    )
    at = [sample.at for sample in story.samples]
    acked = [sample.acked for sample in story.samples]
    axes.fill_between(at, acked, color=ACKED, alpha=0.12)
    axes.plot(at, acked, color=ACKED, linewidth=2, label="acked, by the API")
    axes.axhline(story.total, color=COMPLETED, linewidth=1, linestyle=":")
    _draw_end(axes, story)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("items")
    axes.set_ylim(0, story.total * 1.08)
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _add_legend(axes)


def _draw_end(axes: Any, story: Story) -> None:
    label = f"complete at {story.completed:.1f} s; the one event {story.event - story.completed:.2f} s later"
    axes.axvline(story.completed, color=COMPLETED, linewidth=1.5, label=label)
    axes.plot(
        [story.event], [story.total], marker="*", markersize=14, color=COMPLETED, clip_on=False, zorder=5
    )


def _draw_rate(axes: Any, story: Story) -> None:
    spans = seconds(story.samples)
    begins, widths = [span.begin for span in spans], [span.width for span in spans]
    axes.bar(begins, [span.acks for span in spans], widths, align="edge", color=ACKED, alpha=0.7)
    last, bundled = story.samples[-1], [span.bundled for span in spans]
    if last.calls:
        label_text = f"items that the batch API did ({last.bundled:,} in {count(last.calls, 'call')})"
        axes.bar(begins, bundled, widths, align="edge", color=BUNDLED, alpha=0.9, label=label_text)
    if last.queued:
        label_text = f"items done by {count(last.queued, 'job')}"
        queued = [span.queued for span in spans]
        axes.bar(begins, queued, widths, bundled, align="edge", color=QUEUED, alpha=0.9, label=label_text)
    if last.calls or last.queued:
        _add_legend(axes)
    axes.axvline(story.completed, color=COMPLETED, linewidth=1.5)
    axes.set_ylabel("acks a second")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _draw_chaos(axes: Any, story: Story) -> None:
    spans = seconds(story.samples)
    last = story.samples[-1].counters
    begins, halves = [span.begin for span in spans], [span.width / 2 for span in spans]
    middles = [begin + half for begin, half in zip(begins, halves, strict=True)]
    faults, repeats = [span.faults for span in spans], [span.repeats for span in spans]
    label_text = f"consumers that failed on purpose ({last.faults:,})"
    axes.bar(begins, faults, halves, align="edge", color=FAULT, alpha=0.85, label=label_text)
    label_text = f"acks of an item acked before ({last.repeats:,})"
    axes.bar(middles, repeats, halves, align="edge", color=REPEAT, alpha=0.85, label=label_text)
    axes.axvline(story.completed, color=COMPLETED, linewidth=1.5)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("chaos a second")
    axes.set_xlabel("seconds since the first message")
    _add_legend(axes)
