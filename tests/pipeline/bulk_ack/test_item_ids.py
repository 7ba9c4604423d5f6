"""A column of ids says what the tracker's rules say of each id by itself."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.tracker import GroupId, ItemId
from pipeline.bulk_ack import item_ids
from pipeline.bulk_ack.item_ids import Refusal

BATCH = "00000000-0000-4000-8000-000000000001"
OTHER = "00000000-0000-4000-8000-000000000002"
ABSENT = "00000000-0000-4000-8000-000000000003"
SALTS = {BATCH: b"0123456789abcdef", OTHER: b"another salt...."}
MINE = str(GroupId.make(SALTS[BATCH], BATCH, 5, 2000))
NEXT = str(GroupId.make(SALTS[BATCH], BATCH, 2005, 1))
LAST = str(GroupId.make(SALTS[BATCH], BATCH, 2**40 - 2**36, 2**36))
OTHERS = str(GroupId.make(SALTS[OTHER], OTHER, 0, 10))

GOOD = f"{BATCH}:{MINE}:"
INDEXES = ["0", "7", "1999", "2000", "00", "01", "-1", "-0", "+5", "x", "0x1F", "0xFFFFF", "1e3", "1_0", "٣"]
INDEXES += [" 5", "5 ", "5\n", "", "9" * 18, "1" + "0" * 18, "9" * 19, "1" + "0" * 19, "0" * 19, "1" * 40]
STRANGE = ["", ":", "::", "a:b:c", GOOD, GOOD[:-1], GOOD[:40], GOOD.upper() + "1", " " + GOOD, GOOD + "1:2"]
STRANGE += [f"é{GOOD}1", "é" * 37 + "1", f"{BATCH}:{'é' * 18}:1", f"{ABSENT}:{MINE}:1", f"{BATCH}:{BATCH}:1"]
STRANGE += [f"{OTHER}:{OTHERS}:{index}" for index in (9, 10)] + [f"{BATCH}:{OTHERS}:1"]
STRANGE += [f"{BATCH}:{NEXT}:{index}" for index in (0, 1)]
STRANGE += [f"{BATCH}:{LAST}:{index}" for index in (2**36 - 1, 2**36)]
STRANGE += [f"{BATCH}:{MINE[:-1]}{(int(MINE[-1], 16) + 1) % 16:x}:3"]

texts = st.one_of(
    st.sampled_from([GOOD + index for index in INDEXES] + STRANGE),
    st.integers(0, 2100).map(lambda index: f"{GOOD}{index}"),
    st.text(max_size=90),
    st.text(alphabet="0123456789abcdef-:", min_size=70, max_size=80),
    st.tuples(st.integers(0, 80), st.characters(), st.integers(0, 2000)).map(
        lambda t: f"{GOOD}{t[2]}"[: t[0]] + t[1] + f"{GOOD}{t[2]}"[t[0] + 1 :]
    ),
    st.none(),
)


def by_the_rules(text: str | None) -> tuple[Refusal, str | None, int | None]:
    try:
        item = ItemId.parse(text or "")
    except InvalidRequest:
        return Refusal.MALFORMED, None, None
    if item.batch_id not in SALTS:
        return Refusal.NO_BATCH, None, None
    group = GroupId.decode(item.group_id)
    if group is None or not group.is_of(SALTS[item.batch_id], item.batch_id):
        return Refusal.FOREIGN, None, None
    if item.index >= group.upto:
        return Refusal.OUT_OF_RANGE, None, None
    return Refusal.GOOD, item.batch_id, group.start + item.index


def located(column: pa.Array) -> list[tuple[Refusal, str | None, int | None]]:
    found = item_ids.locate(column, lambda asked: {one: SALTS[one] for one in asked if one in SALTS})
    rows = zip(found.refusal.tolist(), found.batch.tolist(), found.position.tolist(), strict=True)
    return [
        (Refusal(refusal), None, None) if refusal else (Refusal.GOOD, found.batches[batch], position)
        for refusal, batch, position in rows
    ]


@settings(deadline=None)
@given(st.lists(texts, max_size=40))
def test_a_column_of_ids_is_read_as_the_tracker_reads_each(column):
    assert located(pa.array(column, pa.string())) == [by_the_rules(text) for text in column]


@pytest.mark.parametrize("text", STRANGE + [GOOD + index for index in INDEXES])
def test_a_strange_id_is_refused_for_the_trackers_reason(text):
    for column in [text], [text, GOOD + "1", GOOD + "20"], [GOOD + "1", GOOD + "20", text]:
        assert located(pa.array(column)) == [by_the_rules(each) for each in column]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
)
def test_a_column_of_any_kind_of_text_is_read(kind):
    column = [GOOD + "4", None, GOOD + "4", "x"]

    assert located(pa.array(column).cast(kind)) == [by_the_rules(text) for text in column]


def test_a_part_of_a_column_is_read_from_its_own_beginning():
    column = [GOOD + "4", GOOD + "01", GOOD + "12", f"{OTHER}:{OTHERS}:3", GOOD + "7"]

    assert located(pa.array(column)[2:4]) == [by_the_rules(text) for text in column[2:4]]
