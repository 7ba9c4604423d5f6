from __future__ import annotations

from examples.catalog.output.progress import Counters
from examples.catalog.system.deployed import counters_of


def test_the_workers_names_become_ours_and_nothing_is_counted_before_the_first_delivery():
    names = ("deliveries", "faults", "acks", "repeats", "registrations", "jobs", "writeUnits", "ackUnits")
    counts = (9.0, 2.0, 4.0, 1.0, 3.0, 6.0, 12.5, 1.5)

    assert counters_of(dict(zip(names, counts, strict=True))) == Counters(9, 2, 4, 1, 3, 6, 12.5, 1.5)
    assert counters_of({}) == Counters()
