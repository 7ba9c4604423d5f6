from __future__ import annotations

import pytest

from fanin.cost.dollars import price


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (0.0, 0.0, "$0.00"),
        (0.0004, 0.0021, "under $0.01"),
        (0.004, 0.0307, "under $0.01 to $0.03"),
        (183.72, 1746.22, "$183.72 to $1,746.22"),
        (1.954, None, "$1.95"),
        (1.951, 1.954, "$1.95"),
    ],
)
def test_a_price_below_a_cent_is_not_shown_as_nothing(least, most, text):
    assert price(least, most) == text
