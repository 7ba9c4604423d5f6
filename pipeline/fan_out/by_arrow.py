"""fan_out by tasks of Arrow, of a dataset in Parquet, in whatever processes run them.

Where messages are saved, they are the manifest: how many rows there are is in the footers of the dataset, so
the batch is opened, and the rows are read and written once, under their ids. The manifest then refers to the
messages. They are committed whole, so that an identity that anyone has seen stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pipeline.engine_without_spark import output, pieces
from pipeline.engine_without_spark.pieces import Share
from pipeline.fan_out import arrow_files
from pipeline.fan_out.arrow_files import MessageTask, NumberTask, StoredManifest, Written
from pipeline.fan_out.parts import COLUMNS, AnotherSource, Label, Part, check_label, check_lengths
from pipeline.fan_out.publish import FanOutRequest, Items, Numbered, Saved
from pipeline.shared_by_jobs.files import whole
from pipeline.shared_by_jobs.output import is_committed

Run = Callable[[Callable[..., Any], Sequence[Any], Sequence[str]], list[Any]]
"""Runs a function once for each task and returns what it returned; the third are the paths that it uses."""

Placed = tuple[Share, Sequence[tuple[int, int]] | int]
"""What a task reads, and where its positions begin: see MessageTask."""


@dataclass(frozen=True, slots=True)
class ByArrow:
    """Numbers and saves by *run*, in at least *slots* tasks."""

    run: Run
    slots: int

    def number(self, request: FanOutRequest, run: str) -> Numbered:
        """Return the manifest of *request*; if none is committed, write it with the id *run*."""
        if not is_committed(request.manifest):
            return self._write(request, run)
        stored = arrow_files.load(request.manifest)
        check_label(request.manifest, stored.label, request.source, request.files and whole(request.files))
        return Numbered(stored.label, self._measured(stored, request))

    def measure(self, request: FanOutRequest) -> list[Part]:
        """Return the parts that a manifest of *request* would have; nothing is written."""
        label = Label("", request.source)
        return self.run(arrow_files.measure_part, self._tasks(request, label), [request.dataset])

    def save(self, numbered: Numbered, items: Items, request: FanOutRequest) -> Saved:
        """Write the messages to ``request.files``, unless they are there."""
        files, is_referred = str(request.files), bool(numbered.label.messages)
        saved = arrow_files.saved_under(files, items.head) if is_referred else None
        if saved is not None:
            return Saved(saved)
        dealt = self._dataset(request, numbered.total) if is_referred else self._stored(request)
        tasks = [
            MessageTask(number, share, files, items.head, start)
            for number, (share, start) in enumerate(dealt)
        ]
        output.clear(files)
        written = self.run(arrow_files.write_messages, tasks, [request.dataset, request.manifest, files])
        parts = _parts(written)
        check_lengths(parts)
        output.publish(files, [each.name for each in written])
        return Saved(sum(part.rows for part in parts))

    def _write(self, request: FanOutRequest, run: str) -> Numbered:
        output.refuse_foreign(request.manifest, COLUMNS)
        label = Label(run, request.source)
        tasks = self._tasks(request, label)
        if request.is_written_once:
            total = sum(piece.rows for task in tasks for piece in task.share)
            label = Label(run, request.source, whole(str(request.files)), total)
            tasks = [NumberTask(0, [], request.manifest, label)]
        output.clear(request.manifest)
        written = self.run(arrow_files.write_part, tasks, [request.dataset, request.manifest])
        output.publish(request.manifest, [each.name for each in written])
        return Numbered(label, [Part(0, label.total)] if label.messages else _parts(written))

    def _tasks(self, request: FanOutRequest, label: Label) -> list[NumberTask]:
        share = arrow_files.source_of(request.dataset, request.limit)
        dealt = enumerate(pieces.shares(share, self.slots))
        return [NumberTask(number, each, request.manifest, label) for number, each in dealt]

    def _measured(self, stored: StoredManifest, request: FanOutRequest) -> list[Part]:
        """Return the parts of a manifest with their bytes; messages are measured when they are written."""
        if stored.label.messages:
            return stored.parts
        dealt = enumerate(pieces.shares(stored.pieces, self.slots))
        tasks = [NumberTask(number, share, "", stored.label) for number, share in dealt]
        return self.run(arrow_files.measure_stored, tasks, [request.manifest])

    def _stored(self, request: FanOutRequest) -> list[Placed]:
        """Return the shares of a manifest, each with where the parts begin."""
        stored = arrow_files.load(request.manifest)
        before = arrow_files.starts_of(stored)
        return [(share, before) for share in pieces.shares(stored.pieces, self.slots)]

    def _dataset(self, request: FanOutRequest, total: int) -> list[Placed]:
        """Return the shares of the dataset, each with the position of its first row. Raises AnotherSource."""
        share = arrow_files.source_of(request.dataset, request.limit)
        found = sum(piece.rows for piece in share)
        if found != total:
            raise AnotherSource(
                f"{request.dataset} has {found:,} rows, and had {total:,}: name another --manifest"
            )
        dealt = pieces.shares(share, self.slots)
        before = accumulate((sum(piece.rows for piece in each) for each in dealt), initial=0)
        return list(zip(dealt, before, strict=False))


def _parts(written: Sequence[Written]) -> list[Part]:
    return [each.part for each in written if each.part.rows]
