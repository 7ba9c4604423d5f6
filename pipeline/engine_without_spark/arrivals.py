"""Files of a folder as they arrive, in micro-batches that a checkpoint keeps: each file is taken once.

The checkpoint is a folder with two files for each micro-batch: its plan before any file of it is taken, and
an empty one once all are. A micro-batch that a crash cut short is taken again, by the name that it had.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass

from pyarrow.fs import FileSelector

from fanin.pacing import each_in_threads
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.output import place_of

_PLANNED, _TAKEN = ".json", ".taken"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Files that are taken together; *run* names them."""

    run: str
    files: Sequence[ListedFile]


class Arrivals:
    """The micro-batches of the *checkpoint*, and of files that arrive."""

    def __init__(self, checkpoint: str) -> None:
        self._system, self._folder = place_of(checkpoint)
        self._system.create_dir(self._folder)
        names = {info.base_name for info in self._system.get_file_info(FileSelector(self._folder))}
        runs = sorted(name.removesuffix(_PLANNED) for name in names if name.endswith(_PLANNED))
        planned = each_in_threads(self._read, runs)
        self._seen = {file.path for each in planned for file in each.files}
        self._unfinished = [each for each in planned if each.run + _TAKEN not in names]

    def take(self, listed: Callable[[], Sequence[ListedFile]]) -> Iterator[MicroBatch]:
        """Yield what a crash cut short, then the files *listed* that are new.

        A micro-batch is taken once the next one is asked for.
        """
        for each in self._unfinished:
            yield each
            self._write(each.run + _TAKEN, b"")
        self._unfinished = []
        if new := [file for file in listed() if file.path not in self._seen]:
            self._unfinished = [MicroBatch(str(uuid.uuid4()), new)]
            self._write(self._unfinished[0].run + _PLANNED, json.dumps([*map(astuple, new)]).encode())
            self._seen.update(file.path for file in new)
            yield from self.take(lambda: ())

    def _read(self, run: str) -> MicroBatch:
        with self._system.open_input_stream(f"{self._folder}/{run}{_PLANNED}") as source:
            return MicroBatch(run, [ListedFile(*file) for file in json.loads(source.read())])

    def _write(self, name: str, content: bytes) -> None:
        path = f"{self._folder}/{name}"
        with self._system.open_output_stream(f"{path}.part") as sink:
            sink.write(content)
        self._system.move(f"{path}.part", path)
