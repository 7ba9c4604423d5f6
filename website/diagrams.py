"""Draws the Mermaid diagrams of docs/ as SVG with Chromium: ``make diagrams``, after a change of one of them.

The site shows a drawing in the place of its source, so that it needs no script; the name of a drawing is a
hash of the source. A Git host draws the source itself.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRAWN = ROOT / "website" / "diagrams"
MERMAID = ROOT / "build" / "mermaid" / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"
CHROMIUM = "/usr/bin/chromium"
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Colours that the drawing gets, and the variables of the theme that replace them.
COLOURS = {
    "#010101": "var(--md-default-fg-color)",
    "#020202": "var(--md-code-bg-color)",
    "#030303": "var(--md-default-fg-color--light)",
    "#040404": "var(--md-default-bg-color)",
}
THEME = {
    "background": "#040404",
    "primaryColor": "#020202",
    "primaryTextColor": "#010101",
    "primaryBorderColor": "#030303",
    "lineColor": "#030303",
    "textColor": "#010101",
    "transitionLabelColor": "#010101",
    "transitionColor": "#030303",
    "edgeLabelBackground": "#040404",
    "labelBackgroundColor": "#040404",
    "tertiaryColor": "#040404",
    "nodeBorder": "#030303",
    "stateBorder": "#030303",
    "stateBkg": "#020202",
    "stateLabelColor": "#010101",
    "specialStateColor": "#030303",
    "fontFamily": "sans-serif",
    "fontSize": "14px",
}


def drawing_of(source: str) -> Path:
    """Return where the drawing of a diagram is."""
    return DRAWN / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.svg"


def shown(markdown: str) -> str:
    """Return *markdown* with drawings in the place of the diagrams. Raises FileNotFoundError."""
    return BLOCK.sub(lambda found: _drawing(found[1]), markdown)


def _drawing(source: str) -> str:
    path = drawing_of(source)
    if not path.exists():
        raise FileNotFoundError(f"a diagram has changed and has no drawing: run `make diagrams`\n{source}")
    return f'<div class="diagram">{path.read_text()}</div>'


def main() -> None:
    """Draw what has no drawing yet, and remove drawings without a diagram."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    sources = {drawing_of(source): source for page in pages for source in BLOCK.findall(page.read_text())}
    DRAWN.mkdir(exist_ok=True)
    for path in set(DRAWN.glob("*.svg")) - set(sources):
        path.unlink()
    missing = {path: source for path, source in sources.items() if not path.exists()}
    if missing:
        _draw(missing)


def _draw(sources: dict[Path, str]) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # the site itself needs no browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_content("<main></main>")
        page.add_script_tag(path=MERMAID)
        settings = {
            "startOnLoad": False,
            "theme": "base",
            "themeVariables": THEME,
            "htmlLabels": False,
            "flowchart": {"htmlLabels": False},
            "state": {"htmlLabels": False, "nodeSpacing": 90, "rankSpacing": 70},
        }
        page.evaluate("settings => mermaid.initialize(settings)", settings)
        for path, source in sources.items():
            drawn = "([name, source]) => mermaid.render(name, source).then(made => made.svg)"
            path.write_text(_coloured(page.evaluate(drawn, [f"d{path.stem}", source])) + "\n")
        browser.close()


def _coloured(svg: str) -> str:
    for colour, variable in COLOURS.items():
        svg = svg.replace(colour, variable)
    return svg


if __name__ == "__main__":
    main()
