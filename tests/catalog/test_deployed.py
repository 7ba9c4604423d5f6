from __future__ import annotations

from examples.catalog.output.progress import Counters
from examples.catalog.system.deployed import counters_of


def test_nothing_is_counted_before_the_first_delivery():
    assert counters_of({}) == Counters()


def test_the_workers_names_become_ours():
    reported = {
        "deliveries": 9.0,
        "faults": 2.0,
        "acks": 4.0,
        "repeats": 1.0,
        "registrations": 3.0,
        "jobs": 6.0,
    }

    assert counters_of({**reported, "writeUnits": 12.5, "ackUnits": 1.5}) == Counters(
        9, 2, 4, 1, 3, 6, 12.5, 1.5
    )
