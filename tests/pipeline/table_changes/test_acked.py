"""The images of a page yield the acks of its items."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fanin.change_archive.changes import change_of as kept_of
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import Page, PageMasks, mask_of
from pipeline.table_changes.acked import rows_of
from pipeline.table_changes.records import MalformedLine, change_of
from tests.change_archive.streams import record
from tests.pipeline.exporting import page_row

BATCH = "0199a000-0000-7000-8000-000000000000"
KEY = PageKey(BatchKey("a#tenant", BATCH), 0, 7)


def reported(new: Page | None, old: Page | None, key: PageKey = KEY, whole: bool = False):
    """(bits, what, count) of each row of the change, from *whole* images or as the archive keeps them."""
    came = record(new and page_row(key, new), old and page_row(key, old))
    line = json.dumps(came if whole else kept_of(came, "pages").record)
    rows = list(rows_of(change_of(line.encode())))
    assert {(row[0], row[1]) for row in rows} <= {(BATCH, key.number)}
    return [(row[2], row[3], row[4]) for row in rows]


EMPTY, SOME = Page(), Page().with_bits(PageMasks(0b1001))
FULL = Page().with_bits(PageMasks(mask_of(0, 7)))
FAILED = replace(FULL, failed=5)
CHANGES = {
    "the first acks of a page": (None, SOME, [([0, 3], "success", 2)]),
    "a digit that was not there": (SOME, SOME.with_bits(PageMasks(1 << 70)), [([70], "success", 1)]),
    "a bit more of a digit": (SOME, SOME.with_bits(PageMasks(0b100)), [([2], "success", 1)]),
    "a failure": (SOME, SOME.with_bits(PageMasks(failure=0b10)), [([1], "failure", 1)]),
    "both at once": (
        SOME,
        SOME.with_bits(PageMasks(0b100, 0b110000)),
        [([2], "success", 1), ([4, 5], "failure", 2)],
    ),
    "a failure healed": (
        SOME.with_bits(PageMasks(failure=0b10)),
        SOME.with_bits(PageMasks(0b10)),
        [([1], "healed", 0)],
    ),
    "filled at once": (None, FULL.compact(), [([*range(8)], "success", 8)]),
    "the rest of a page": (
        SOME,
        SOME.replaced(PageMasks(0b100, 0b11110010), fills=True),
        [([2], "success", 1), ([1, 4, 5, 6, 7], "failure", 5)],
    ),
    "compaction": (FULL, FULL.compact(), [(None, "touched", 0)]),
    "compaction with failures": (FAILED, FAILED.compact(), [(None, "touched", 0)]),
    "healed after compaction": (
        FAILED.compact(),
        replace(FULL, failed=4).compact(),
        [([0], "healed", 0)],
    ),
    "marked by close": (SOME, replace(SOME, size=8, root=True), [(None, "touched", 0)]),
    "marked before any ack": (None, replace(EMPTY, size=8), [(None, "touched", 0)]),
    "acks that are only counted": (Page(n=3), Page(n=8), [(None, "counted", 5)]),
    "the first of them": (None, Page(n=2), [(None, "counted", 2)]),
    "a full counter": (Page(n=9), replace(Page(n=9), compacted=True), [(None, "touched", 0)]),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("old", "new", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_yields_the_items_that_it_acked(old, new, expected, whole):
    assert reported(new, old, whole=whole) == expected


def test_parents_hold_no_items_and_a_page_that_goes_acks_nothing():
    assert reported(SOME, None, replace(KEY, level=1)) == reported(None, SOME) == []


def test_how_full_the_page_is_stands_in_every_row():
    came = record(page_row(KEY, SOME.with_bits(PageMasks(0b10, 0b100))), page_row(KEY, SOME))
    rows = list(rows_of(change_of(json.dumps(came).encode())))

    assert [row[5] for row in rows] == [4, 4]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        *[
            ({"pk": {"S": pk}, "n": {"N": "1"}}, "tenant#batch#level#page")
            for pk in ("", "b#0", "tenant#batch#zero#0", "tenant#batch#0#x")
        ],
        (page_row(KEY, SOME) | {"n": {"S": "many"}}, "no page"),
    ],
)
def test_a_row_that_is_no_page_is_named_so(row, message):
    with pytest.raises(MalformedLine, match=message):
        list(rows_of(change_of(json.dumps(record(row)).encode())))
