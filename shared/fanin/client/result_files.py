"""The results of an ended batch, read file by file over any transport."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.item_results import lines
from fanin.pacing import pause

LOOKS = 1_000
"""Requests that a reader sends while results are gathered; each takes a step of some seconds."""
LONGEST_PAUSE_AT = 8


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """A page of the files of a batch's results: each is read, gzipped, when it is called.

    *ready*: False while they are gathered.
    """

    ready: bool
    files: tuple[Callable[[], bytes], ...] = ()
    cursor: Any = None


class Source(Protocol):
    """The part of a transport that reads results."""

    def results(self, batch_id: str, cursor: Any) -> ResultFiles: ...


def batch_of_results(source: object) -> str:
    """Return the id of the batch that *source* is, or whose ending event it is the detail of."""
    found = source.get("batchId") if isinstance(source, Mapping) else source
    if not isinstance(found, str):
        raise InvalidRequest("results takes the id of a batch, or the detail of its ending event")
    return found


def read_results(source: Source, batch_id: str) -> Iterator[tuple[str, Any]]:
    """Yield the id and the result of each item of a batch, in order; one file is in memory at a time."""
    page = _gathered(source, batch_id)
    while True:
        for file in page.files:
            for _, line in lines.lines_of(gzip.decompress(file())):
                yield lines.read(line)
        if page.cursor is None:
            return
        page = source.results(batch_id, page.cursor)


def _gathered(source: Source, batch_id: str) -> ResultFiles:
    """Return the first page of files once they are gathered."""
    for look in range(LOOKS):
        page = source.results(batch_id, None)
        if page.ready:
            return page
        pause(min(look, LONGEST_PAUSE_AT))
    raise StoreUnavailable(f"the results of batch {batch_id} are not gathered yet; read them again")
