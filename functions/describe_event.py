"""The Pipe's enrichment: stream records of batches in, details of completion events out."""

from typing import Any

from fanin.api.events import completions


def handler(event: list[dict[str, Any]], _context: Any) -> list[dict[str, Any]]:
    return completions(event)
