"""Draws the plots of results as SVG: light ground, readable at 800 pixels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.pages.results import Plot

INCHES = 8.0
MOST_INSIDE = 4
"""Lines whose legend has room among them; that of more is above them."""
ABOVE: Any = {"loc": "lower left", "bbox_to_anchor": (-0.08, 1), "ncols": 2, "fontsize": 9.5}
COLOURS = ("#1f6feb", "#d1570b", "#1a7f37", "#8250df", "#bf3989", "#57606a")
STYLE: Any = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "fanin",  # the same drawing is the same file
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
}


def draw(plot: Plot, path: Path) -> None:
    """Write the drawing of *plot*."""
    with _axes(plot) as (figure, axes):
        (_bars if plot.bars else _lines)(plot, axes)
        figure.suptitle(plot.title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        axes.set_xlabel(plot.x)
        figure.savefig(path, metadata={"Date": None, "Creator": None, "Description": digest(plot)})


def digest(plot: Plot) -> str:
    """Return what the drawing of *plot* has in its description."""
    return hashlib.sha256(json.dumps(asdict(plot), sort_keys=True).encode()).hexdigest()[:16]


def drawn(path: Path) -> str:
    """Return the digest of the plot that a file shows, empty if there is none."""
    found = re.search(r"<dc:description>(\w+)</dc:description>", path.read_text()) if path.exists() else None
    return found[1] if found else ""


@contextmanager
def _axes(plot: Plot) -> Iterator[tuple[Any, Any]]:
    import matplotlib as mpl  # noqa: PLC0415 - a page without plots needs none

    mpl.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415  # takes 0.8 s

    with mpl.rc_context(STYLE):
        height = 1.4 + 0.34 * len(plot.bars) if plot.bars else 4.5
        figure, axes = pyplot.subplots(figsize=(INCHES, height), layout="constrained")
        yield figure, axes
        pyplot.close(figure)


def _bars(plot: Plot, axes: Any) -> None:
    labels, values = list(plot.bars), list(plot.bars.values())
    bars = axes.barh(labels, values, color=COLOURS[0], height=0.66)
    axes.bar_label(bars, labels=[_short(each) for each in values], padding=4, fontsize=10)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.margins(x=0.15, y=0.01)
    if "x" in plot.log:
        axes.set_xscale("log")


def _lines(plot: Plot, axes: Any) -> None:
    for number, (name, points) in enumerate(plot.lines.items()):
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, marker="o", markersize=4, label=name, color=COLOURS[number % len(COLOURS)])
    axes.set_ylabel(plot.y)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, **(ABOVE if len(plot.lines) > MOST_INSIDE else {}))
    for axis in "xy":
        if axis in plot.log:
            getattr(axes, f"set_{axis}scale")("log")


def _short(value: float) -> str:
    """Return *value* with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
