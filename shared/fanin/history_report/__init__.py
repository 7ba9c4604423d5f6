"""The report: an HTML page of the tables that the Spark job ``history`` writes. The extra is ``report``.

    from fanin.history_report import page

    page("s3://bucket/history")  # the page as text, with its charts and styles; it loads nothing

The page shows what finished and when, what failed and what was slow; for each of the first batches its acks
over time, latencies, last items and reasons of failures; bundles and jobs. A page is of bounded size: tables
of any size become a bounded number of ``facts``.

``collecting`` reads the tables into ``facts``; ``summary`` derives the texts, and ``moments`` the times of
a chart; ``charts`` draws, in the style and the colours of ``drawing``; ``rendering`` fills ``page.html``.
"""

from fanin.history_report.collecting import NoTables, collect
from fanin.history_report.rendering import page_of

__all__ = ["NoTables", "page"]


def page(folder: str) -> str:
    """Return the page of the tables in *folder*, a path or an ``s3://`` URI. Raises NoTables."""
    return page_of(collect(folder))
