from __future__ import annotations

from pipeline.spark.format import count


def test_one_is_counted_as_one():
    assert (count(1, "call"), count(1200, "call"), count(2, "batch", "batches")) == (
        "1 call",
        "1,200 calls",
        "2 batches",
    )
