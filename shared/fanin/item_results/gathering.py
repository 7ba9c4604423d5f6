"""Gather the results of an ended batch: from parts in any order to files in the order of the items.

::

    parts/*  --freeze-->  manifest  --portions, sorted-->  runs/*  --merged, counted-->  files/*  -->  index

The manifest lists the parts; its name is written once, so a part that comes later is never read. Of the
lines of an item the first one counts, in the order of the parts' names, which are random; so does a line
only if the item is done and has not failed, by the batch's pages. The index is written once too, and readers
use nothing else: whatever process gathers, as often and as far as it may, every read has the same results.

Small steps, each kept under a name that is written once, so that a gathering which is cut short is continued
by the next one: a run for each portion of the parts, and a step for each file.
"""

from __future__ import annotations

import gzip
import heapq
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice
from typing import NamedTuple
from uuid import uuid4

from fanin.item_results.files import FILE_BYTES, LEVEL, File, Index, cut, read, stored, write
from fanin.item_results.lines import Line, first_of_each, lines_of
from fanin.item_results.objects import Listed, Objects, folder_of
from fanin.pacing import Each, each_in_turn
from fanin.tracker.rules.model import Batch, BatchKey, Manifest, PageKey
from fanin.tracker.rules.page import Page
from fanin.tracker.store import TrackerStore

PARTS_A_RUN = 4_000
BYTES_A_RUN = 32 * 2**20
"""What one step reads and sorts in memory."""
LISTED_ALONE = 4
"""Pages of a list; the names of more parts are listed side by side, by their first digit."""
DIGITS = "0123456789abcdef"
GZIP = 31
"""zlib's *wbits* of the gzip format."""
LINES_A_LOOK = 20_000
"""Lines whose pages are read together."""


class Frozen(NamedTuple):
    """The parts of a batch, as its manifest, of this *content*, has them."""

    manifest: Manifest
    content: bytes
    folder: str

    @property
    def parts(self) -> Iterator[Listed]:
        """Yield the parts in the order of their names."""
        for row in islice(_rows(self.content), 1, None):
            name, _, size = row.decode().rpartition(" ")
            yield Listed(self.folder + name, int(size))


class _Packed(NamedTuple):
    """Rows of a manifest, gzipped: how many *parts*, and their bytes."""

    rows: bytes
    parts: int
    size: int


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Gathers the results of batches. *each*: reads parts that do not depend on each other."""

    objects: Objects
    pages: TrackerStore
    each: Each = each_in_turn
    new_id: Callable[[], object] = field(default=uuid4)
    file_bytes: int = FILE_BYTES
    run_bytes: int = BYTES_A_RUN
    run_parts: int = PARTS_A_RUN

    def gather(self, batch: Batch, has_time: Callable[[], bool]) -> Index | None:
        """Return the index of an ended batch; None if there is more to do than *has_time* for: call again.

        Every call takes one step at least, or finds that another process has taken it.
        """
        found = self.index(batch.key)
        if found is not None:
            return found
        portions = self._portions(frozen(self.objects, batch.key, self.each).parts)
        first = list(islice(portions, 2))
        if len(first) <= 1:
            return self._merge(batch, [self._sorted(first[0] if first else ())], has_time)
        runs = []
        for number, parts in enumerate(chain(first, portions)):
            run, is_new = self._run(batch.key, number, parts)
            if is_new and not has_time():
                return None
            runs.append(run)
        return self._merge(batch, runs, has_time)

    def index(self, key: BatchKey) -> Index | None:
        """Return the index of a batch whose results are gathered, else None."""
        content = self.objects.get(folder_of(key) + "index")
        return None if content is None else Index.load(content)

    def _portions(self, parts: Iterable[Listed]) -> Iterator[Sequence[Listed]]:
        """Yield *parts* in portions that fit into memory."""
        portion: list[Listed] = []
        size = 0
        for part in parts:
            if portion and (size + part.size > self.run_bytes or len(portion) == self.run_parts):
                yield portion
                portion, size = [], 0
            portion.append(part)
            size += part.size
        if portion:
            yield portion

    def _run(
        self, key: BatchKey, number: int, parts: Sequence[Listed]
    ) -> tuple[Callable[[int], Iterator[Line]], bool]:
        """Return the reader of a portion's sorted lines, and whether this call has sorted it."""
        name = f"{folder_of(key)}runs/{number:06d}"
        content = self.objects.get(name)
        is_new = content is None
        if content is None:
            lines = self._sorted(parts)(0)
            files = [
                write(self.objects, f"{name}-{self.new_id()}", some)
                for some in cut(lines, self.file_bytes // 32)
            ]
            content = Index(tuple(files)).dump()
            if not self.objects.put_first(name, content):
                content = stored(self.objects, name)
        run = Index.load(content)
        return lambda start: read(self.objects, run, start), is_new

    def _sorted(self, parts: Sequence[Listed]) -> Callable[[int], Iterator[Line]]:
        """Return the reader of *parts* in the order of the items, each once, all in memory."""
        found: dict[int, bytes] = {}
        for content in self.each(lambda part: stored(self.objects, part.name), parts):
            for position, line in lines_of(content):
                found.setdefault(position, line)
        return lambda start: ((each, found[each]) for each in sorted(found) if each >= start)

    def _merge(
        self, batch: Batch, runs: Sequence[Callable[[int], Iterator[Line]]], has_time: Callable[[], bool]
    ) -> Index | None:
        """Write the files from *runs* that are not written yet, and the index behind the last one."""
        folder = folder_of(batch.key)
        files = self._written(folder)
        start = files[-1].last + 1 if files else 0
        merged = first_of_each(heapq.merge(*(run(start) for run in runs), key=lambda line: line[0]))
        for some in cut(self._counted(batch, merged), self.file_bytes):
            file = write(self.objects, f"{folder}files/{self.new_id()}.jsonl.gz", some)
            step = Index((file,)).dump()
            if not self.objects.put_first(f"{folder}steps/{len(files):08d}", step) or not has_time():
                return self.index(batch.key)
            files.append(file)
        self.objects.put_first(folder + "index", Index(tuple(files)).dump())
        return Index.load(stored(self.objects, folder + "index"))

    def _written(self, folder: str) -> list[File]:
        """Return the files of the steps that were taken before."""
        names = [each.name for some in self.objects.names(f"{folder}steps/") for each in some]
        return [
            file
            for content in self.each(lambda name: stored(self.objects, name), names)
            for file in Index.load(content).files
        ]

    def _counted(self, batch: Batch, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield those of *lines* whose items are done and have not failed."""
        lines = iter(lines)
        while some := list(islice(lines, LINES_A_LOOK)):
            leaf = batch.shape.leaf
            keys = {PageKey(batch.key, 0, position // leaf) for position, _ in some}
            pages = self.pages.pages(keys)
            for position, line in some:
                page = pages.get(PageKey(batch.key, 0, position // leaf), Page())
                if _succeeded(page, position % leaf):
                    yield position, line


def frozen(objects: Objects, key: BatchKey, each: Each = each_in_turn) -> Frozen:
    """Return the parts of an ended batch, which the first call fixes."""
    folder = folder_of(key)
    name = folder + "manifest"
    content = objects.get(name)
    if content is None:
        content = _listed(objects, folder + "parts/", each)
        if not objects.put_first(name, content):
            content = stored(objects, name)
    count, size = json.loads(next(_rows(content)))
    return Frozen(Manifest(name, count, size), content, folder + "parts/")


def _listed(objects: Objects, folder: str, each: Each) -> bytes:
    """Return the content of the manifest: a row with the number of parts and their bytes, a row each part."""
    pages = list(islice(objects.names(folder), LISTED_ALONE + 1))
    if len(pages) <= LISTED_ALONE:
        packed = [_packed(folder, pages)]
    else:
        packed = each(lambda digit: _packed(folder, objects.names(folder + digit)), DIGITS)
    sums = [sum(one.parts for one in packed), sum(one.size for one in packed)]
    return b"".join(
        [gzip.compress(b"%s\n" % json.dumps(sums).encode(), mtime=0), *(one.rows for one in packed)]
    )


def _packed(folder: str, pages: Iterable[Sequence[Listed]]) -> _Packed:
    """Return the rows of *pages*, of which one at a time is in memory."""
    packer, rows, count, size = zlib.compressobj(LEVEL, wbits=GZIP), [], 0, 0
    for some in pages:
        text = "".join(f"{part.name.removeprefix(folder)} {part.size}\n" for part in some)
        rows.append(packer.compress(text.encode()))
        count, size = count + len(some), size + sum(part.size for part in some)
    return _Packed(b"".join([*rows, packer.flush()]), count, size)


def _rows(content: bytes) -> Iterator[bytes]:
    with gzip.open(BytesIO(content)) as rows:
        yield from rows


def _succeeded(page: Page, bit: int) -> bool:
    return not page.unset(1 << bit) and not page.failed >> bit & 1
