"""Renders the page from its template, which escapes all texts but the charts: these escape their own."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fanin.history_report import charts, summary
from fanin.history_report import format as formats
from fanin.history_report.drawing import COLOURS
from fanin.history_report.facts import BatchFacts, History
from fanin.history_report.moments import Clock, marks

SHOWN = 30
"""Targets and queues."""
LOOKED_AT = 8
"""Batches that the first screen names for attention; the list has the others."""
FILTERS = {
    "number": formats.number,
    "seconds": formats.seconds,
    "whole_seconds": formats.whole_seconds,
    "moment": formats.moment,
    "count": formats.count,
    "states": summary.states,
}


def page_of(history: History) -> str:
    """Return the whole page."""
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= FILTERS
    reasons = [(batch, why) for batch in history.batches for why in summary.attention(batch)]
    return environment.get_template("page.html").render(
        history=history,
        summary=summary,
        shown=SHOWN,
        light=_variables(0),
        dark=_variables(1),
        attention=reasons[:LOOKED_AT],
        unnamed=max(0, len(reasons) - LOOKED_AT),
        acks_of=acks_of,
        latency_of=latency_of,
        sizes=charts.sizes(history.sizes) if history.sizes else None,
    )


def _variables(mode: int) -> str:
    return " ".join(f"--{name}: {modes[mode]};" for name, modes in COLOURS.items())


def acks_of(batch: BatchFacts) -> tuple[str, list[tuple[str, str, str | None]]] | None:
    """Return the chart of acks and its keys (kind, name, time); None if no ack is known."""
    clock = Clock.of(batch)
    if clock is None or not batch.curve:
        return None
    lines = ["acked", "failed"] if any(point.failed for point in batch.curve) else ["acked"]
    keys: list[tuple[str, str, str | None]] = [(line, line, None) for line in lines]
    keys += [(mark.kind, mark.name, clock.label(mark.at)) for mark in marks(batch, clock)]
    return charts.acks_over_time(batch, clock), keys


def latency_of(batch: BatchFacts) -> tuple[str, dict[str, float]] | None:
    """Return the histogram of latencies, and their mean and percentiles; None without latencies."""
    shares = batch.shares
    if shares is None or not batch.bars:
        return None
    keys = {name: getattr(shares, name) for name in ("mean", "p50", "p90", "p95", "p99")}
    return charts.latency(batch.bars, shares), keys | {"longest": shares.most}
