"""The layout of a manifest: its columns, its label, and the parts that number its rows. Pure.

A row is numbered by its part and its *ord* in the part, from 0 on. Its position in the batch is its ord and
the rows of all parts before.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fanin.cost.estimate import ENVELOPE_BYTES
from fanin.publishing.packing import BATCH_BYTES
from pipeline.engine_without_spark.pieces import RowGroup

NUMBERS = ("part", "ord")
COLUMNS = (*NUMBERS, "record")
RUN = "fanin.run"
SOURCE = "fanin.source"
MESSAGES = "fanin.messages"
TOTAL = "fanin.total"
SPARKS_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"
"""The key of a Parquet file with the schema as Spark reads it."""
_TYPES = {"part": "integer", "ord": "long", "record": "string"}


class NoManifest(ValueError):
    """The output committed at this path is not a manifest."""


class Damaged(ValueError):
    """Files of a manifest are missing or duplicated, so its numbers are no longer identities."""


class AnotherSource(ValueError):
    """The manifest at this path was written from another dataset."""


class RecordTooLong(ValueError):
    """A row's message would be longer than SQS accepts."""


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of one part of a manifest; *size* and *widest* in bytes of JSON, 0 if not measured."""

    number: int
    rows: int
    size: int = 0
    widest: int = 0


@dataclass(frozen=True, slots=True)
class Label:
    """What a manifest says of itself: its *run*, and the *source* of its rows.

    *messages*: the folder of the messages that are its rows, *total* of them; None: it has rows of its own.
    """

    run: str
    source: str
    messages: str | None = None
    total: int = 0

    @property
    def own(self) -> dict[str, str]:
        """Return it as the metadata of a column."""
        referred = {MESSAGES: self.messages, TOTAL: str(self.total)} if self.messages else {}
        return {RUN: self.run, SOURCE: self.source, **referred}


def sparks_schema(label: Label) -> str:
    """Return the schema of a manifest as Spark keeps it in each file."""
    fields = [
        {"name": name, "type": kind, "nullable": False, "metadata": label.own if name == "part" else {}}
        for name, kind in _TYPES.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def label_of(schema: str, path: str) -> Label:
    """Return the label in Spark's *schema* of the files at *path*. Raises NoManifest."""
    fields = {field["name"]: field for field in json.loads(schema)["fields"]}
    found = fields.get("part", {}).get("metadata", {})
    if {name: field["type"] for name, field in fields.items()} != _TYPES or not {RUN, SOURCE} <= found.keys():
        raise NoManifest(f"{path} holds no manifest of fan_out: name another --manifest")
    return Label(found[RUN], found[SOURCE], found.get(MESSAGES), int(found.get(TOTAL, 0)))


def check_label(path: str, label: Label, source: str, files: str | None) -> None:
    """Raise AnotherSource unless the manifest at *path* is of *source*, and of the messages in *files*."""
    if label.source != source:
        raise AnotherSource(f"{path} holds {label.source}, not {source}: name another --manifest")
    if label.messages and label.messages != files:
        raise AnotherSource(f"{path} is of the messages in {label.messages}: name another --manifest")


def check_lengths(parts: Iterable[Part]) -> None:
    """Raise RecordTooLong if a row's message would be longer than SQS takes."""
    widest = max((part.widest for part in parts), default=0)
    if widest + ENVELOPE_BYTES > BATCH_BYTES:
        raise RecordTooLong(f"a row has {widest:,} bytes of JSON; SQS takes {BATCH_BYTES:,} a message")


def checked(parts: Iterable[tuple[Part, int]]) -> list[Part]:
    """Return *parts*, each with the last number of its rows, in order. Raises Damaged."""
    found = sorted(parts, key=lambda each: each[0].number)
    for part, last in found:
        if part.rows != last + 1:
            raise Damaged(
                f"part {part.number} of the manifest has {part.rows} rows, numbered from 0 to {last}:"
                " files of it are missing or duplicated; name another --manifest"
            )
    return [part for part, _ in found]


def counted(groups: Sequence[RowGroup]) -> list[Part] | None:
    """Return the parts in *groups*, in order; None unless each has the numbers of one part.

    Raises Damaged.
    """
    rows: Counter[int] = Counter()
    last: dict[int, int] = {}
    for group in groups:
        if len(group.values) != len(NUMBERS) or len(set(group.values["part"])) != 1:
            return None
        (part, _), (_, ord_) = group.values["part"], group.values["ord"]
        rows[part] += group.rows
        last[part] = max(ord_, last.get(part, 0))
    return checked((Part(part, rows[part]), last[part]) for part in rows)


def check_total(label: Label, rows: int) -> None:
    """Raise Damaged if a manifest refers to messages that are not *rows*."""
    if label.messages and rows != label.total:
        raise Damaged(f"{label.messages} does not hold the {label.total:,} messages of the run")


def starts(parts: Sequence[Part]) -> list[tuple[int, int]]:
    """Return (part, start): the number of rows before each part."""
    before = accumulate((part.rows for part in parts), initial=0)
    return [(part.number, start) for part, start in zip(parts, before, strict=False)]


def place(starts: Sequence[tuple[int, int]], position: int) -> tuple[int, int]:
    """Return the part and the ord of the row at *position*."""
    part, start = starts[bisect_right(starts, position, key=lambda each: each[1]) - 1]
    return part, position - start
