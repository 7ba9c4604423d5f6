"""Rows of a batch, a group, and an index or a range are to the fold what the ids of their items are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanin.tracker import Mode, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from pipeline.bulk_ack import fold, logs
from pipeline.bulk_ack.fold import Folder, fold_files
from pipeline.bulk_ack.logs import Portion, UnreadableLog
from pipeline.bulk_ack.rows import PAGE_MASKS, Collected
from tests.pipeline.logs import arrow, write_columns

TENANT = "tenant"
PAGE_BITS = 7
SIZES = (90, 3, 40)
TRACKER = Tracker(MemoryStore(), page_bits=PAGE_BITS)


def opened(**options) -> list[tuple[str, str, int]]:
    """The groups of a new batch, each with its batch and its size."""
    batch = TRACKER.open(TENANT, OpenBatch(**options))
    return [(batch.batch_id, TRACKER.add(TENANT, batch.batch_id, size).groups[0].id, size) for size in SIZES]


GOOD = opened() + opened()
ESTIMATED = opened(mode=Mode.ESTIMATED)
ABSENT = "00000000-0000-4000-8000-000000000009"
STRANGE = [(ABSENT, GOOD[0][1], 90), (GOOD[0][0], GOOD[3][1], 90), (GOOD[0][0], ABSENT, 90)]
STRANGE += [("junk", GOOD[0][1], 9), (None, GOOD[0][1], 9), (GOOD[0][0], None, 9), (None, None, 9)]
STRANGE += [
    (f"{GOOD[0][0]}:{GOOD[0][1]}", "", 9),
    (GOOD[0][0], f"{GOOD[0][1]}:1", 9),
    (GOOD[0][0].upper(), "", 9),
]


@dataclass(frozen=True, slots=True)
class Row:
    """A range of the items of a group of *size*."""

    batch_id: str | None
    group_id: str | None
    size: int
    first: int | None
    last: int | None
    outcome: str | None

    def indexes(self) -> list[int | None]:
        """The indexes that are acked one by one instead; one that is refused for the same reason."""
        if self.first is None or self.last is None or not 0 <= self.first <= self.last:
            return [None if self.last is None else -1]
        group = (self.batch_id, self.group_id, self.size)
        is_good = group in GOOD and self.last < self.size and self.outcome != "other"
        return list(range(self.first, self.last + 1)) if is_good else [self.last]


indexes = st.one_of(st.integers(0, 90), st.sampled_from([-1, -(2**63), 2**40, 2**63 - 1, None]))
rows_of_log = st.lists(
    st.builds(
        lambda group, ends, outcome: Row(*group, *ends, outcome),
        st.sampled_from(GOOD * 3 + ESTIMATED + STRANGE),
        st.one_of(st.tuples(st.integers(0, 30), st.integers(20, 89)), st.tuples(indexes, indexes)),
        st.sampled_from([None, None, "success", "failure", "other"]),
    ),
    max_size=30,
)


def as_ranges(rows):
    return {
        name: [getattr(row, name) for row in rows]
        for name in ("batch_id", "group_id", "first", "last", "outcome")
    }


def as_indexes(rows):
    single = [(row.batch_id, row.group_id, index, row.outcome) for row in rows for index in row.indexes()]
    return {
        name: [row[at] for row in single]
        for at, name in enumerate(("batch_id", "group_id", "index", "outcome"))
    }


def as_ids(rows):
    single = as_indexes(rows)
    named = zip(single["batch_id"], single["group_id"], single["index"], strict=True)
    texts = [":".join("" if part is None else str(part) for part in each) for each in named]
    return {"item_id": [None if text == "::" else text for text in texts], "outcome": single["outcome"]}


def folded(*portions: Portion) -> tuple[int, Counter[str], list[dict[str, object]]]:
    """The number of acks, the rejected rows by their refusals, and the bits of each page."""
    folder, found = Folder(TRACKER.store, TENANT), Collected()
    for one in portions:
        for batch in folder.take(one, "log"):
            found.take(batch)
    for batch in folder.blocks():
        found.take(batch)
    return found.acks, found.rejected, pa.Table.from_batches(found.page_masks(), PAGE_MASKS).to_pylist()


@settings(deadline=None)
@given(rows_of_log, rows_of_log)
def test_ranges_indexes_and_ids_of_the_same_items_fold_to_the_same(first, then):
    by_ids, by_indexes, by_ranges = (
        folded(*(logs.portion(arrow(columns_of(rows))) for rows in (first, then)))
        for columns_of in (as_ids, as_indexes, as_ranges)
    )

    assert by_indexes == by_ids
    assert by_ranges == by_ids


def read(path) -> tuple[int, Counter[tuple[str, str]]]:
    """The number of acks, and the rejected rows with their refusals."""
    found = pa.Table.from_batches(fold_files([str(path)], TRACKER.store, TENANT), fold.FOLDED)
    rejected = found["rejected"].combine_chunks().drop_null().to_pylist()
    texts = Counter(((row["item_id"] or "").replace(HEAD, ""), row["refusal"]) for row in rejected)
    return sum(found["acks"].drop_null().to_pylist()), texts


BATCH, GROUP, SIZE = GOOD[0]
HEAD = f"{BATCH}:{GROUP}:"
INDEXES = {"index": [3, 3, SIZE, -1, None, 2**63 - 1]}
BAD_INDEXES = {
    ("90", "out_of_range"): 1,
    ("-1", "malformed"): 1,
    ("", "malformed"): 1,
    (f"{2**63 - 1}", "out_of_range"): 1,
}
RANGES = {"first": [0, 5, -1, 0, None, 7], "last": [9, 4, 9, SIZE, 9, None]}
BAD_RANGES = {("5-4", "malformed"): 1, ("-1-9", "malformed"): 1, ("0-90", "out_of_range"): 1}
BAD_RANGES |= {("-9", "malformed"): 1, ("7-", "malformed"): 1}


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl", "log.csv"])
@pytest.mark.parametrize(("numbers", "acks", "bad"), [(INDEXES, 2, BAD_INDEXES), (RANGES, 10, BAD_RANGES)])
@pytest.mark.parametrize("folder", ["", f"batch_id={BATCH}/group_id={GROUP}"])
def test_each_format_says_the_same_with_its_group_in_columns_or_in_the_names_of_its_folders(
    tmp_path, name, numbers, acks, bad, folder
):
    group = {} if folder else {"batch_id": [BATCH] * 6, "group_id": [GROUP] * 6}

    assert read(write_columns(tmp_path / folder / name, {**group, **numbers})) == (acks, bad)


def test_a_part_of_a_file_with_one_batch_is_read_as_one_with_several_or_with_nulls(tmp_path):
    batches = [BATCH, BATCH, BATCH, None, BATCH, ABSENT]
    rows = arrow({"batch_id": batches, "group_id": [GROUP] * 6, "index": [0, 1, 2, 3, 4, 5]})
    pq.write_table(pa.Table.from_batches([rows]), tmp_path / "log.parquet", row_group_size=2)

    bad = {(f":{GROUP}:3", "malformed"): 1, (f"{ABSENT}:{GROUP}:5", "no_batch"): 1}
    assert read(tmp_path / "log.parquet") == (4, bad)


@pytest.mark.parametrize(("value", "filled"), [("failure", "failure"), ("__HIVE_DEFAULT_PARTITION__", None)])
@pytest.mark.parametrize("given", [None, "success"])
def test_an_outcome_that_is_missing_is_that_of_the_folder(tmp_path, value, filled, given):
    rows = {"item_id": ["a", "b"], "outcome": [given, None]}
    path = write_columns(tmp_path / f"outcome={value}" / "log.parquet", rows)

    assert [each.outcome.to_pylist() for each in logs.read(str(path))] == [[given or filled, filled]]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.string(), pa.large_string()]
)
def test_indexes_of_any_width_are_read(kind):
    group = {
        name: pa.array([text] * 3).dictionary_encode()
        for name, text in (("batch_id", BATCH), ("group_id", GROUP))
    }
    ranges = {"first": pa.array([0, 5, 80]).cast(kind), "last": pa.array([0, 7, 127]).cast(kind)}

    acks, rejected, _ = folded(logs.portion(pa.RecordBatch.from_pydict({**group, **ranges})))

    assert (acks, rejected) == (4, {"out_of_range": 1})


def test_a_number_beyond_64_bits_is_beyond_the_group():
    rows = {"batch_id": [BATCH] * 2, "group_id": [GROUP] * 2, "index": [2**64 - 1, None]}

    assert folded(logs.portion(arrow(rows, pa.uint64())))[:2] == (0, {"out_of_range": 1, "malformed": 1})


def test_lines_of_json_may_name_their_items_each_in_another_way(tmp_path):
    group = f'"batch_id":"{BATCH}","group_id":"{GROUP}"'
    lines = [f'{{"item_id":"{HEAD}1","index":"a column of theirs"}}', f'{{{group},"index":2}}']
    lines += [
        f'{{{group},"first":3,"last":9,"n":1}}',
        *(bad := [f'{{{group},"index":1.5}}', f'{{{group},"index":true}}']),
    ]
    (tmp_path / "log.jsonl").write_text("\n".join([*lines, "{}"]))

    assert read(tmp_path / "log.jsonl") == (
        9,
        {**{(line, "unreadable"): 1 for line in bad}, ("", "malformed"): 1},
    )


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"index": [1]}, "no column batch_id"),
        ({"batch_id": ["a"], "index": [1]}, "no column group_id"),
        ({"batch_id": ["a"], "group_id": ["b"], "first": [1]}, "no column last"),
        ({"batch_id": ["a"], "group_id": ["b"]}, "no column item_id or itemId, nor index"),
        ({"batch_id": ["a"], "group_id": ["b"], "index": [1], "first": [1]}, "index beside first or last"),
    ],
)
@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_a_log_whose_columns_name_no_items_is_refused_with_what_is_missing(tmp_path, name, found, why):
    with pytest.raises(UnreadableLog, match=why):
        read(write_columns(tmp_path / name, found))


@pytest.mark.parametrize(("name", "value"), [("index", 1.0), ("index", True), ("batch_id", 7)])
def test_a_column_of_another_type_is_refused(name, value):
    rows = {"batch_id": [BATCH], "group_id": [GROUP], "index": [1], name: [value]}

    with pytest.raises(pa.ArrowInvalid, match=f"its column {name} is .*; expected (integers|text)"):
        logs.portion(pa.RecordBatch.from_pydict(rows))


def test_the_reason_of_a_failed_range_is_that_of_its_first_item():
    ends = {"first": [4], "last": [9], "outcome": ["failure"], "reason": ["why"]}
    folder = Folder(TRACKER.store, TENANT)

    rows = folder.take(logs.portion(arrow({"batch_id": [BATCH], "group_id": [GROUP], **ends})), "log")

    kept = [row for batch in rows for row in batch["reason"].drop_null().to_pylist()]
    assert kept == [{"batch_id": BATCH, "item_id": f"{HEAD}4", "reason": "why"}]
