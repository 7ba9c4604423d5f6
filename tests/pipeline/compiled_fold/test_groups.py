"""The kernel folds generated logs, with every kind of damage, as NumPy does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from fanin.tracker import Mode, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.bulk_ack import fold
from pipeline.bulk_ack.fold import FOLDED, Folder
from pipeline.bulk_ack.item_columns import ItemIds, ItemNumbers
from pipeline.bulk_ack.logs import Portion
from pipeline.compiled_fold import groups
from pipeline.compiled_fold.groups import KnownGroups
from pipeline.shared_by_jobs.bitmaps import BLOCK_BITS, Fold

TENANT = "tenant"
STORE = MemoryStore()
SIZES = {1024: (40, 3 * BLOCK_BITS, 1, 2**30), 1000: (700, 200_000), 7: (500, 3), 1: (50,)}


def opened(page_bits: int, *sizes: int, **options) -> list[tuple[str, int]]:
    """The heads of the ids of a new batch, with the sizes of their groups."""
    tracker = Tracker(STORE, page_bits=page_bits)
    batch = tracker.open(TENANT, OpenBatch(**options))
    issued = [tracker.add(TENANT, batch.batch_id, size).groups[0].id for size in sizes]
    return [(f"{batch.batch_id}:{group}:", size) for group, size in zip(issued, sizes, strict=True)]


GROUPS = [each for page_bits, sizes in SIZES.items() for each in opened(page_bits, *sizes)]
GROUPS += [(f"{GROUPS[0][0][:37]}{GROUPS[-1][0][37:]}", 9), ("0" * 8 + GROUPS[0][0][8:], 9)]
GROUPS += opened(1024, 30, mode=Mode.ESTIMATED)

DAMAGES: list[Callable[[Random, str, str], str | None]] = [
    lambda _, __, ___: None,
    lambda _, head, index: f"{head}0{index}",
    lambda random, head, index: f"{head}{index}{'0' * random.randrange(7, 20)}",
    lambda _, head, index: f"{head}{'0' * 15}{index}",
    lambda random, head, _: f"{head}{2 ** random.randrange(20, 70)}",
    lambda random, head, index: f"{head}{index}"[: random.randrange(80)],
    lambda _, head, index: f"{head.upper()}{index}",
    lambda random, head, index: random.choice(["", " ", "{}:0", "{}\0", " {}", "{}\n", "+{}"]).format(
        head + index
    ),
    lambda random, head, index: f"{head}{random.choice(['', '-', '+', ' ', '_', 'é', '٣', '0x'])}{index}",
    lambda random, head, index: replaced(random, head + index, random.randrange(len(head + index))),
    lambda random, head, index: replaced(random, head + index, len(head) + random.randrange(len(index))),
    lambda random, head, index: replaced(random, head + index, random.randrange(60, len(head))),
]
"""What is wrong with the id of an index of a group."""


def replaced(random: Random, text: str, at: int) -> str:
    return text[:at] + random.choice("/:0129;@af\x00\x10\x7f ") + text[at + 1 :]


def an_index(random: Random, size: int) -> int:
    """One of a group, often at the border of a block, or beyond."""
    if random.random() < 0.7:
        return random.randrange(size)
    border = random.randrange(4) * BLOCK_BITS + random.randrange(-2, 2)
    return max(0, random.choice([border, 0, 1, size - 1, size, size + 1, 10**7, 10**8 + 1, 10**10 - 1]))


def an_id(random: Random, some: list[tuple[str, int]], damaged: float) -> str | None:
    head, size = random.choice(some)
    index = str(an_index(random, size))
    return random.choice(DAMAGES)(random, head, index) if random.random() < damaged else head + index


def a_column(random: Random, texts: list[str | None]) -> pa.Array:
    """The texts as part of a longer column, in which a null may have a text beneath it."""
    before = random.randrange(3)
    beneath = ["x"] * before + [text if text is not None else f"{GROUPS[0][0]}1" for text in texts] + ["y"]
    valid = np.packbits([True] * before + [text is not None for text in texts] + [True], bitorder="little")
    _, offsets, data = pa.array(beneath, pa.string()).buffers()
    column = pa.Array.from_buffers(pa.string(), len(beneath), [pa.py_buffer(valid), offsets, data])
    return column[before:-1]


def a_column_of_numbers(random: Random, some: list[tuple[str, int]], rows: int) -> ItemNumbers:
    """Indexes, or ranges of items, some of which are no index or end before they begin."""
    chosen = random.choices(some, k=rows)
    names = ([head.split(":")[at] for head, _ in chosen] for at in (0, 1))
    first = [an_index(random, min(size, 2 * BLOCK_BITS)) for _, size in chosen]
    lengths = [random.choice([0, 1, 7, 200, BLOCK_BITS + 9]) for _ in chosen]
    ends = [first, [index + length for index, length in zip(first, lengths, strict=True)]]
    for _ in range(random.choice([0, 0, rows // 10])):
        random.choice(ends)[random.randrange(rows)] = random.choice([-1, -(2**63), 2**63 - 1, None, 0])
    kinds = random.sample([pa.int64(), pa.string()], 1) if random.random() < 0.2 else [pa.int64()]
    columns = [pa.array(column, pa.int64()).cast(kinds[0]) for column in ends]
    return ItemNumbers(*(pa.array(each, pa.string()) for each in names), *columns[: random.choice([1, 2])])


def a_portion(random: Random) -> Portion:
    """Rows of some groups, in runs or in turns."""
    rows, some = random.randrange(60), random.sample(GROUPS, random.choice([1, 1, 3, len(GROUPS)]))
    outcomes = random.choice([[None], [None], [None, "success"], ["success", "failure", "other", "", None]])
    outcome = pa.array(random.choices(outcomes, k=rows), pa.string())
    reason = pa.array(random.choices([None, "why", "a\nb"], k=rows), pa.string())
    if random.random() < 0.3:
        return Portion(a_column_of_numbers(random, some, rows), outcome, reason)
    damaged = random.choice([0, 0.02, 0.3])
    ids = a_column(random, [an_id(random, some, damaged) for _ in range(rows)])
    return Portion(ItemIds(ids), outcome, reason, ("a line",) if random.random() < 0.1 else ())


def folded(portions: list[Portion], compiled: KnownGroups | None) -> dict[str, list]:
    """What comes out, column by column."""
    folder = Folder(STORE, TENANT, compiled)
    return in_columns(
        [batch for each in portions for batch in folder.take(each, "log")] + list(folder.blocks())
    )


def in_columns(out: list[pa.RecordBatch]) -> dict[str, list]:
    """Rows of FOLDED, column by column; blocks in the order of their numbers, reasons batch by batch."""
    rows = pa.Table.from_batches(out, FOLDED).to_pydict()
    found = {name: [each for each in column if each is not None] for name, column in rows.items()}
    found["block"].sort(key=lambda block: (block["batch_id"], block["block"], block["failed"] is None))
    found["reason"].sort(key=lambda reason: reason["batch_id"])
    return found


@contextmanager
def limited(declined: int, known: int, few: int) -> Iterator[None]:
    """Calls end after so many *declined* rows, and so many groups are *known* at once.

    Declined rows wait, if they are less than one of *few*, for three times the *declined* of a call.
    """
    limits = {"FIRST_DECLINED": declined, "MOST_GROUPS": known}
    waiting = patch.multiple(fold, FEW=few, MOST_WAITING=3 * declined)
    with waiting, patch.multiple(groups, **limits, LEAST_GROUPS=min(known, groups.LEAST_GROUPS)):
        yield


LIMITS = [(groups.FIRST_DECLINED, groups.MOST_GROUPS, fold.FEW), (1, 1, 1), (2, 4, 5)]


@pytest.mark.parametrize("logs", [150, pytest.param(10_000, marks=pytest.mark.proof)])
def test_the_kernel_folds_damaged_logs_as_numpy_does(kernel, logs):
    by_kernel = rows = 0
    for seed in range(logs):
        random = Random(seed)
        portions = [a_portion(random) for _ in range(random.randrange(1, 6))]
        with limited(*LIMITS[seed % len(LIMITS)]):
            found = folded(portions, compiled := KnownGroups(kernel))

        assert found == folded(portions, None), f"seed {seed}"
        by_kernel, rows = by_kernel + compiled.acks, rows + sum(len(each.items) for each in portions)
    assert by_kernel > rows / 5, "the kernel has declined almost all"


def test_few_rows_that_the_kernel_declines_wait_for_others_of_their_file(kernel, monkeypatch):
    monkeypatch.setattr(fold, "FEW", 4)
    monkeypatch.setattr(fold, "MOST_WAITING", 3)
    folder, (head, _) = Folder(STORE, TENANT, KnownGroups(kernel)), GROUPS[0]

    def rejected(good: int, wrong: list[str], file: str = "a") -> list[tuple[str, str]]:
        ids = pa.array([f"{head}{index}" for index in range(good)] + wrong, pa.string())
        portion = Portion(ItemIds(ids), *[pa.nulls(len(ids), pa.string())] * 2)
        return names_in(folder.take(portion, file))

    def names_in(out: Iterator[pa.RecordBatch]) -> list[tuple[str, str]]:
        return [(row["file"], row["item_id"]) for row in in_columns(list(out))["rejected"]]

    assert rejected(9, []) == []
    assert (rejected(9, ["1"]), rejected(9, ["2"])) == ([], [])
    assert rejected(9, ["3"]) == [("a", "1"), ("a", "2"), ("a", "3")], "so many wait no longer"
    assert rejected(9, ["4"]) == []
    assert rejected(3, ["5"]) == [("a", "4"), ("a", "5")], "these are not few"
    assert rejected(9, ["6"]) == []
    assert rejected(9, ["7"], "b") == [("a", "6")], "these are of another file"
    assert names_in(folder.blocks()) == [("b", "7")]


def test_after_so_many_groups_all_but_the_next_are_forgotten(kernel):
    with limited(declined=9, known=2, few=1):
        known = KnownGroups(kernel)
        for head, _ in GROUPS[:3]:
            known.add(head, 0, 1, Fold(1024))

        (declined,) = known.fold(pa.array([f"{head}0" for head, _ in GROUPS[:3]]), None)
    assert declined.tolist() == [0, 1]
