"""What a fan-out costs, by the size of its chunks: the table of docs/chunks.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanin.cost import Bill
from fanin.cost import fan_out as costs
from fanin.cost.fan_out import fan_out, messages_of
from fanin.publishing import packing
from fanin.tracker.batch_changes.climb import GUARDED_DIGITS
from fanin.tracker.rules.page import DIGIT_BITS, PAGE_BITS_MAX

BILLION = 10**9
ROW_BYTES = 239
PAGE = Path(__file__).parents[2] / "docs" / "chunks.md"
CASES = {
    "single, acked alone": {"size": BILLION * ROW_BYTES, "chunk": 1},
    "single, ten neighbours": {"size": BILLION * ROW_BYTES, "chunk": 1, "together": 10},
    "64 rows inside": {"size": BILLION * ROW_BYTES, "chunk": 64},
    "256 rows inside": {"size": BILLION * ROW_BYTES, "chunk": 256},
    "1,024 by pointer": {"size": 0, "chunk": 1024},
}


def money(dollars: float) -> str:
    return f"${dollars:,.2f}"


def line(name: str) -> str:
    """The row of the table of a case."""
    case = CASES[name]
    bill = Bill(fan_out(BILLION, **case))
    services = bill.by_service()
    messages = messages_of(BILLION, case["size"], case["chunk"])
    sums = (services["SQS"], services["DynamoDB"], bill.dollars)
    return f"| {name} | {messages:,} | {' | '.join(map(money, sums))} |"


@pytest.mark.parametrize("name", CASES)
def test_the_page_has_what_the_model_says(name: str) -> None:
    assert line(name) in PAGE.read_text()


def test_what_the_model_takes_from_the_tracker_is_what_the_tracker_has() -> None:
    assert costs.GUARDED_ITEMS == DIGIT_BITS * GUARDED_DIGITS - (DIGIT_BITS - 1)
    assert costs.PAGE_ITEMS == PAGE_BITS_MAX
    assert (costs.MESSAGE_BYTES, costs.ENVELOPE_BYTES) == (packing.MESSAGE_BYTES, packing.ENVELOPE_BYTES)


@pytest.mark.parametrize(
    ("items", "size", "chunk", "messages"),
    [
        (0, 0, 64, 0),
        (1, 9, 64, 1),
        (128, 9, 64, 2),
        (129, 9, 64, 3),
        (64, 1024 * 1024, 64, 4),
        (2, 10**6, 2, 2),
    ],
)
def test_a_chunk_is_one_message_unless_its_rows_are_long(
    items: int, size: int, chunk: int, messages: int
) -> None:
    assert messages_of(items, size, chunk) == messages
