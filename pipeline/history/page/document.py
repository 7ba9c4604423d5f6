"""Renders the report as one self-contained HTML page. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.history.facts import History
from pipeline.history.page.overview import overview
from pipeline.history.page.sections import batch_section, bundles_section, jobs_section, notes
from pipeline.history.page.style import STYLE
from pipeline.history.page.tags import text


def page(history: History) -> str:
    """Return the whole page."""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += text("title", "Batch lifecycle") + f"<style>{STYLE}</style>"
    body = "".join([overview(history), *_sections(history), notes()])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main>{body}</main></body></html>\n'


def _sections(history: History) -> Iterator[str]:
    drawn = [batch for batch in history.batches if batch.is_drawn]
    if drawn:
        yield text("h2", "Batches")
    yield from map(batch_section, drawn)
    if history.targets:
        yield bundles_section(history)
    if history.queues:
        yield jobs_section(history)
