"""The results of an ended batch, read file by file over any transport."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fanin.client.timer import REAL
from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.item_ids import ItemId
from fanin.item_results import lines
from fanin.pacing import pause_seconds
from fanin.tracker.rules.model import ItemKey

LOOKS = 1_000
"""Requests that a reader sends while results are gathered; each takes a step of some seconds."""
LONGEST_PAUSE_AT = 8


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file of results: *read* returns it, gzipped. *last*: the position of its last item in the batch."""

    last: int
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """A page of the files of a batch's results. *ready*: False while they are gathered."""

    ready: bool
    files: tuple[ResultFile, ...] = ()
    cursor: Any = None


class Source(Protocol):
    """The part of a transport that reads results."""

    def results(self, batch_id: str, cursor: Any) -> ResultFiles: ...


def batch_of_results(source: object) -> str:
    """Return the id of the batch that *source* is, or whose ending event it is the detail of."""
    found = source.get("batchId") if isinstance(source, Mapping) else source
    if not isinstance(found, str):
        raise InvalidRequest(
            "results takes the id of a batch, or the detail of its ending event", field="batch"
        )
    return found


def read_results(
    source: Source, batch_id: str, after: str | None = None, waiting: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, Any]]:
    """Yield the id and the result of each item of a batch, in order; one file is in memory at a time.

    *after*: an item of the batch; only those behind it. *waiting*: called before each pause while they are
    gathered. Raises InvalidRequest, before anything is read, for an item of another batch.
    """
    return _lines(source, batch_id, -1 if after is None else _position(batch_id, after), waiting)


def _lines(
    source: Source, batch_id: str, after: int, waiting: Callable[[], object]
) -> Iterator[tuple[str, Any]]:
    page = _gathered(source, batch_id, waiting)
    while True:
        for file in page.files:
            content = gzip.decompress(file.read()) if file.last > after else b""
            for position, line in lines.lines_of(content):
                if position > after:
                    yield lines.read(line)
        if page.cursor is None:
            return
        page = source.results(batch_id, page.cursor)


def _position(batch_id: str, item_id: str) -> int:
    if ItemId.parse(item_id).batch_id != batch_id:
        raise InvalidRequest(f"item {item_id} is not of batch {batch_id}", field="after")
    return ItemKey.of("", item_id).position


def _gathered(source: Source, batch_id: str, waiting: Callable[[], object]) -> ResultFiles:
    """Return the first page of files once they are gathered."""
    for look in range(LOOKS):
        page = source.results(batch_id, None)
        if page.ready:
            return page
        waiting()
        REAL.sleep(pause_seconds(min(look, LONGEST_PAUSE_AT)))
    raise StoreUnavailable(f"the results of batch {batch_id} are not gathered yet; read them again")
