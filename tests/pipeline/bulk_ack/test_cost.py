from __future__ import annotations

from pipeline.bulk_ack.run import estimate_acks


def test_folded_acks_take_a_read_and_at_most_three_writes_a_page_and_eight_where_some_failed():
    assert estimate_acks(pages=100, failing=10).facts() == {
        "reads": 100,
        "mostWrites": 90 * 3 + 10 * 8,
        "mostDollars": round((100 * 0.125 + 350 * 0.625) / 1e6, 4),
        "price": "under $0.01",
    }
