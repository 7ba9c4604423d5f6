"""Draws with matplotlib: the style of charts, and SVG in the colours of the page, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from matplotlib.figure import Figure

COLOURS: Mapping[str, tuple[str, str]] = {
    "page": ("#f5f7fa", "#0f141a"),
    "card": ("#ffffff", "#171d25"),
    "ink": ("#17212d", "#e7ecf3"),
    "soft": ("#5b6776", "#98a5b6"),
    "line": ("#dce2e9", "#2b3440"),
    "grid": ("#ebeff4", "#232b35"),
    "acks": ("#2563eb", "#6ea3ff"),
    "rate": ("#8db1f6", "#4169b0"),
    "late": ("#dd7a17", "#f2a24f"),
    "good": ("#15803d", "#57c98b"),
    "good-bg": ("#e1f4e7", "#17352a"),
    "bad": ("#c8303f", "#ff7a86"),
    "bad-bg": ("#fce7e9", "#3c1c22"),
    "live": ("#8d5f0b", "#f0c350"),
    "live-bg": ("#fcf0d0", "#3a2f12"),
}
"""Each colour in light and in dark mode: CSS variables of the page."""
LIGHT = {name: light for name, (light, _) in COLOURS.items()}
"""The colours that charts are drawn in; in an SVG, those of the page replace them."""
STYLE: Any = {
    "font.size": 11,
    "text.color": LIGHT["ink"],
    "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["soft"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "grid.color": LIGHT["grid"],
    "xtick.labelcolor": LIGHT["soft"],
    "ytick.labelcolor": LIGHT["soft"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "fanin",
}
"""Settings of matplotlib: ``with rc_context(STYLE):``. Texts stay texts, and equal charts equal bytes."""

_VARIABLES = {light: f"var(--{name})" for name, light in LIGHT.items()}
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_BOX = re.compile(r'viewBox="[^"]*"')
_NOT_NEEDED = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>| font-family: [^;\"]*;?", re.DOTALL)
_GROUP = re.compile(r'<g id="([^"]*)">')
_COLOUR = re.compile("#[0-9a-f]{6}")


class Drawing:
    """A figure of *width* by *height* points, with plots of these relative *heights* over one axis."""

    def __init__(self, width: float, height: float, heights: tuple[float, ...] = (1,)) -> None:
        self.figure = Figure(figsize=(width / 72, height / 72), facecolor="none", layout="constrained")
        grid = self.figure.subplots(len(heights), sharex=True, height_ratios=heights, squeeze=False)
        self.plots = list(grid[:, 0])
        self._captions: dict[str, str] = {}

    def caption(self, artist: Any, text: str) -> None:
        """Show *text* where the pointer is over *artist*."""
        name = f"caption-{len(self._captions)}"
        artist.set_gid(name)
        self._captions[name] = text

    def svg(self, name: str) -> str:
        """Return the SVG element; *name* describes it to a screen reader."""
        written = io.StringIO()
        self.figure.savefig(written, format="svg", metadata=_METADATA)
        text = written.getvalue()
        inside = _NOT_NEEDED.sub("", text[text.index("<svg ") :].partition(">")[2])
        inside = _COLOUR.sub(lambda found: _VARIABLES.get(found[0], found[0]), inside)
        box = _BOX.search(text)
        opening = f'<svg {box[0] if box else ""} role="img" aria-label="{escape(name)}">'
        return opening + " ".join(_GROUP.sub(self._group, inside).split())

    def _group(self, found: re.Match[str]) -> str:
        """Return the opening of a group without its id, which is not unique on a page of charts."""
        text = self._captions.get(found[1])
        return f"<g><title>{escape(text)}</title>" if text else "<g>"
