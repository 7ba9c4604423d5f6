"""What AWS bills, held against the examples of its own pages."""

from __future__ import annotations

import pytest

from fanin.cost.rules import (
    KIB,
    api_requests,
    events,
    gb_seconds,
    keyed_read_units,
    queue_requests,
    read_units,
    write_units,
)
from fanin.cost.sizes import size_of

NAME = "data"


def row(kilobytes: float) -> dict[str, dict[str, str]]:
    """A row of so many KB."""
    return {NAME: {"S": "x" * (int(kilobytes * KIB) - len(NAME))}}


@pytest.mark.parametrize(("kilobytes", "units"), [(0.5, 1), (1, 1), (1.001, 2), (2, 2), (8, 8)])
def test_a_write_takes_a_unit_for_each_kilobyte_that_is_begun(kilobytes, units):
    assert write_units(None, row(kilobytes)) == write_units(row(kilobytes), None) == units


def test_an_update_is_billed_by_the_larger_of_the_two_images():
    assert write_units(row(3), row(2)) == write_units(row(2), row(3)) == 3


@pytest.mark.parametrize(("kilobytes", "consistent", "eventual"), [(3.5, 1, 0.5), (8, 2, 1), (10, 3, 1.5)])
def test_a_read_takes_a_unit_for_each_four_kilobytes_and_half_if_eventually_consistent(
    kilobytes, consistent, eventual
):
    assert read_units([row(kilobytes)], consistent=True) == consistent
    assert read_units([row(kilobytes)], consistent=False) == eventual


def test_a_batch_read_rounds_each_row_and_a_query_their_sum():
    # BatchGetItem of 1.5 KB and 6.5 KB is 12 KB; a query of rows of 40.8 KB is 44 KB.
    assert keyed_read_units([row(1.5), row(6.5)], consistent=True) == 3
    assert read_units([row(10.2)] * 4, consistent=True) == 11


def test_a_read_of_a_row_that_is_not_stored_takes_the_least():
    assert keyed_read_units([None, None], consistent=True) == 2
    assert keyed_read_units([None], consistent=False) == 0.5


@pytest.mark.parametrize(("kilobytes", "billed"), [(0, 1), (1, 1), (64, 1), (65, 2), (256, 4), (1024, 16)])
def test_sqs_and_eventbridge_bill_each_64_kb(kilobytes, billed):
    assert queue_requests(kilobytes * KIB) == events(kilobytes * KIB) == billed


def test_an_http_api_bills_each_512_kb_of_the_longer_side():
    assert [api_requests(each * KIB) for each in (0, 512, 513, 1024, 1025)] == [1, 1, 2, 2, 3]
    assert api_requests(10, 600 * KIB) == 2


def test_lambda_bills_whole_milliseconds_by_memory():
    # 3 million invocations of 120 ms with 1,536 MB are 540,000 GB-seconds.
    assert 3_000_000 * gb_seconds(120, 1536) == pytest.approx(540_000)
    assert gb_seconds(1.2, 1024) == gb_seconds(2, 1024)


@pytest.mark.parametrize(
    ("number", "size"), [("0", 1), ("7", 2), ("63", 2), ("1024", 3), ("1.5", 2), ("-100", 2), ("1E3", 3)]
)
def test_a_number_takes_a_byte_for_two_significant_digits_and_one_more(number, size):
    assert size_of({"": {"N": number}}) == size
