from __future__ import annotations

from fanin.cost.estimate import estimate


def test_small_records_take_a_request_for_ten_to_send_to_receive_and_to_delete():
    assert estimate(1000, 100_000).requests == 300


def test_long_records_are_billed_by_the_64_kib():
    long = estimate(1000, 1000 * (64 * 1024 - 140))

    assert long.requests == 1000 + 1000 + 100


def test_acks_take_a_write_for_ten_neighbours_or_one_each_and_two_more_for_a_page():
    found = estimate(10_240, 0)

    assert (found.least_writes, found.most_writes) == (1024 + 20, 10_240 + 20)
