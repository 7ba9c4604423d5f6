"""The model of DynamoDB's partitions keeps the limits that AWS documents, and the loads meet them."""

from __future__ import annotations

import pytest

from lab.scale_limits import partitions, streams
from lab.scale_limits.cases import SHAPE, batch, failures, in_order, jobs
from lab.scale_limits.keys import Key
from lab.scale_limits.ladder import cold, is_taken, run, warm
from lab.scale_limits.partitions import (
    KEY,
    PEAK_SECONDS,
    SHARED,
    SPLIT_SECONDS,
    Blame,
    Partitions,
    Request,
    Tables,
    position,
)


def steadily(requests):
    """The same requests in each second."""
    return lambda second: requests


def spread(count, units):
    """Requests of one item for each of *count* keys."""
    return [Request({Key("table", f"key-{number}"): units}, 1, 1) for number in range(count)]


@pytest.mark.parametrize("units", [4_000, 40_000, 4_000_000])
@pytest.mark.parametrize("splits", [False, True])
def test_a_key_takes_1000_writes_a_second_whatever_the_table_has(units, splits):
    hot = [Request({Key("table", "hot"): 1}, 2_500, 2_500)]
    outcome = Tables(lambda _: Partitions(units, splits)).run(steadily(hot), 2 * SPLIT_SECONDS)

    assert outcome.rates == pytest.approx([1_000] * len(outcome.rates))
    assert outcome.first == (Key("table", "hot"), "key")


def test_writes_of_two_units_halve_it():
    outcome = Tables().run(steadily([Request({Key("table", "hot"): 2}, 2_500, 2_500)]), 3)

    assert outcome.rates == pytest.approx([500] * 3)


def neighbours():
    """Two keys of one partition of a new table, each below the limit of a key, together above it."""
    names = [f"key-{number}" for number in range(100) if position(f"key-{number}") < 0.25]
    return [Request({Key("table", name): 1}, 900, 900) for name in names[:2]]


def test_adaptive_capacity_splits_keys_that_share_a_partition_and_without_it_they_share_1000():
    seconds = SPLIT_SECONDS + 60
    with_it = Tables(lambda _: Partitions(splits=True)).run(steadily(neighbours()), seconds)
    without = Tables().run(steadily(neighbours()), seconds)
    first = Tables().run(steadily(neighbours()), 1).first

    assert with_it.rates[0] == pytest.approx(1_000)
    assert max(with_it.rates[SPLIT_SECONDS:]) > 1_700
    assert max(without.rates) == pytest.approx(1_000)
    assert first.why == SHARED


def test_a_new_table_takes_4000_writes_a_second():
    outcome = Tables().run(steadily(spread(5_000, 2)), 5)

    assert max(outcome.rates) * 2 == pytest.approx(4_000)


def test_an_on_demand_table_takes_twice_its_peak_half_an_hour_later():
    """Evenly spread, so that only the table's limit refuses; a table of splits is not faster."""
    place = Partitions()
    place.peaks = [3_500.0] * PEAK_SECONDS
    before = place.limit
    place.end(place.bounds, place.bounds, 3_500.0)

    assert (before, place.limit) == (4_000, 7_000)
    assert len(place.bounds) >= 7


def test_a_warm_table_takes_its_units_at_once():
    outcome = Tables(lambda _: Partitions(40_000)).run(steadily(spread(20_000, 1)), 2)

    assert outcome.rates[0] > 19_000


def test_an_index_that_throttles_refuses_the_write():
    both = {Key("table", "a"): 1, Key("table/index", "one"): 2}
    outcome = Tables().run(steadily([Request(both, 900, 900)]), 2)

    assert outcome.rates == pytest.approx([500, 500])
    assert outcome.first == (Key("table/index", "one"), "key")


def test_the_same_load_has_the_same_outcome():
    once, again = (run(in_order, 20_000, cold, 4) for _ in range(2))

    assert once == again


def test_acks_of_one_page_are_bound_by_its_key_and_full_pages_by_their_parent():
    parent = streams.page(batch(1), 1, 0)
    above = SHAPE.fanout * 1_100
    outcome = run(in_order, above, warm, 4)

    assert outcome.backlog > 0.1
    assert Blame(parent, KEY) in outcome.blames
    spread_over = run(lambda rate: in_order(rate, parents=16), above, warm, 4)
    assert Blame(parent, KEY) not in spread_over.blames


@pytest.mark.parametrize(
    ("rate", "together", "units", "taken"),
    [
        (10_000, 1, 40_000, True),
        (10_000, 1, 12_000, False),
        (10_000, 100, 4_000, True),
        (1_000_000, 100, 40_000, True),
        (1_000_000, 100, 4_000, False),
    ],
)
def test_the_page_names_units_that_a_load_needs(rate, together, units, taken):
    outcome = run(lambda asked: in_order(asked, together), rate, lambda _: Partitions(units))

    assert is_taken(outcome, rate) is taken


@pytest.mark.parametrize(("together", "most"), [(1, 500), (100, 50_000)])
def test_failures_are_bound_to_500_transactions_a_second_on_the_batch_row(together, most):
    outcome = run(lambda rate: failures(rate, together), 3 * most, warm, 4)

    assert outcome.rates[-1] == pytest.approx(most, rel=0.15)
    assert outcome.first == (streams.row(batch(1)), "key")


def test_a_part_of_a_queue_takes_142_jobs_a_second():
    outcome = run(lambda rate: jobs(rate, parts=1), 400, warm, 3)

    assert outcome.rates[-1] == pytest.approx(1_000 / 7, rel=0.01)


def test_splits_and_waiting_are_those_of_aws():
    assert (partitions.PARTITION, partitions.NEW_TABLE, partitions.PEAK_SECONDS) == (1_000, 4_000, 1_800)
    assert partitions.IN_FLIGHT == 120_000
