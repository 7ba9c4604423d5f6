"""Prices, units and their sums."""

from __future__ import annotations

import pytest

from fanin.cost import PRICES, Bill, Usage
from fanin.cost.prices import PAGES


def test_every_price_has_the_page_of_its_service() -> None:
    assert {price.service for price in PRICES.values()} == PAGES.keys()
    assert all(price.dollars > 0 for price in PRICES.values())


def test_a_bill_is_the_sum_of_its_lines_by_service() -> None:
    bill = Bill(Usage({"alarm": 37, "dashboard": 1, "write_unit": 2e6, "read_unit": 0}))

    assert [(line.price.unit, line.amount) for line in bill.lines] == [
        ("alarm metrics", 37),
        ("dashboards", 1),
        ("write request units", 2e6),
    ]
    assert bill.by_service() == pytest.approx({"CloudWatch": 6.7, "DynamoDB": 1.25})
    assert bill.dollars == pytest.approx(7.95)


def test_a_unit_without_a_price_is_refused() -> None:
    with pytest.raises(KeyError, match="no price for alarms"):
        Usage({"alarms": 1})
