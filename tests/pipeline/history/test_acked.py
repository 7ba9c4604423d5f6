"""The images of a page yield the acks of its items."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fanin.archive.changes import change_of as kept_of
from fanin.tracker.dynamodb import items
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import Page, PageMasks, digits, mask_of
from pipeline.history.changes.acked import rows_of
from pipeline.history.changes.records import MalformedLine, change_of
from tests.archive.streams import record

BATCH = "0199a000-0000-7000-8000-000000000000"
KEY = PageKey(BatchKey("a#tenant", BATCH), 0, 7)


def image(page: Page, key: PageKey = KEY):
    """The row of *page* as the tracker writes it."""
    facts = {f"d{digit}": items.number(value) for digit, value in digits(page.bits)}
    facts |= {f"x{digit}": items.number(value) for digit, value in digits(page.failed)}
    facts |= {"n": items.number(page.n)} if page.n else {}
    facts |= {"size": items.number(page.size)} if page.size is not None else {}
    facts |= {"root": {"BOOL": True}} if page.root else {}
    facts |= {"compacted": {"BOOL": True}} if page.compacted else {}
    return items.page_key(key) | {"ttl": items.number(1_800_000_000)} | facts


def reported(new: Page | None, old: Page | None, key: PageKey = KEY, whole: bool = False):
    """(bit, what, count) of each row of the change, from *whole* images or as the archive keeps them."""
    came = record(new and image(new, key), old and image(old, key))
    line = json.dumps(came if whole else kept_of(came, "pages").record)
    rows = list(rows_of(change_of(line.encode())))
    assert {(row[0], row[1]) for row in rows} <= {(BATCH, key.number)}
    return [(row[2], row[3], row[4]) for row in rows]


EMPTY, SOME = Page(), Page().with_bits(PageMasks(0b1001))
FULL = Page().with_bits(PageMasks(mask_of(0, 7)))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, SOME, [(0, "success", 1), (3, "success", 1)], id="the first acks of a page"),
        pytest.param(
            SOME, SOME.with_bits(PageMasks(1 << 70)), [(70, "success", 1)], id="a digit that was not there"
        ),
        pytest.param(SOME, SOME.with_bits(PageMasks(0b100)), [(2, "success", 1)], id="a bit more of a digit"),
        pytest.param(SOME, SOME.with_bits(PageMasks(failure=0b10)), [(1, "failure", 1)], id="a failure"),
        pytest.param(
            SOME,
            SOME.with_bits(PageMasks(0b110, 0b110000)),
            [(1, "success", 1), (2, "success", 1), (4, "failure", 1), (5, "failure", 1)],
            id="both at once",
        ),
        pytest.param(
            SOME.with_bits(PageMasks(failure=0b10)),
            SOME.with_bits(PageMasks(0b10)),
            [(1, "healed", 0)],
            id="a failure healed",
        ),
        pytest.param(FULL, FULL.compact(), [(None, "touched", 0)], id="compaction"),
        pytest.param(
            replace(FULL, failed=5),
            replace(FULL, failed=5).compact(),
            [(None, "touched", 0)],
            id="with failures",
        ),
        pytest.param(
            replace(FULL, failed=5).compact(),
            replace(FULL, failed=4).compact(),
            [(0, "healed", 0)],
            id="healed after compaction",
        ),
        pytest.param(SOME, replace(SOME, size=8, root=True), [(None, "touched", 0)], id="marked by close"),
        pytest.param(None, replace(EMPTY, size=8), [(None, "touched", 0)], id="marked before any ack"),
        pytest.param(Page(n=3), Page(n=8), [(None, "counted", 5)], id="acks that are only counted"),
        pytest.param(None, Page(n=2), [(None, "counted", 2)], id="the first of them"),
        pytest.param(Page(n=9), replace(Page(n=9), compacted=True), [(None, "touched", 0)], id="it is full"),
    ],
)
def test_a_change_yields_the_items_that_it_acked(old, new, expected, whole):
    assert reported(new, old, whole=whole) == expected


@pytest.mark.parametrize("bits", [1, 4, 5, 6, 7, 11, 12, 171, 1023])
def test_every_bit_of_a_page_is_reported(bits):
    old = Page().with_bits(PageMasks(mask_of(0, 1023) & ~(1 << bits)))

    assert reported(old.with_bits(PageMasks(1 << bits)), old) == [(bits, "success", 1)]


def test_a_whole_page_at_once_is_every_item():
    assert reported(Page().with_bits(PageMasks(mask_of(0, 1023))), None) == [
        (bit, "success", 1) for bit in range(1024)
    ]


def test_parents_hold_no_items():
    assert reported(SOME, None, replace(KEY, level=1)) == []


def test_a_page_that_goes_acks_nothing():
    assert reported(None, SOME) == []


def test_how_full_the_page_is_stands_in_every_row():
    came = record(image(SOME.with_bits(PageMasks(0b110))), image(SOME))
    rows = list(rows_of(change_of(json.dumps(came).encode())))

    assert [row[5] for row in rows] == [4, 4]


@pytest.mark.parametrize("pk", ["", "b#0", "tenant#batch#zero#0", "tenant#batch#0#x"])
def test_a_row_that_is_no_page_is_named_so(pk):
    came = record({"pk": {"S": pk}, "n": {"N": "1"}})

    with pytest.raises(MalformedLine, match="tenant#batch#level#page"):
        list(rows_of(change_of(json.dumps(came).encode())))


def test_an_image_that_is_no_page_is_named_so():
    came = record(image(SOME) | {"n": {"S": "many"}})

    with pytest.raises(MalformedLine, match="no page"):
        list(rows_of(change_of(json.dumps(came).encode())))
