"""A sequence of a billion ids behaves like a list that has them."""

from __future__ import annotations

import pickle
import sys
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin import Items
from fanin.tracker import GroupId

BATCH = "0ef47699-0329-8786-96da-20e3b1079a68"
GROUP = "00000000-0000-8000-8002-51f055f7ab7a"
UPTO_MAX = 2**36

bounds = st.none() | st.integers(-40, 40)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(-7, 7).filter(bool))


def items(upto: int) -> Items:
    return Items(BATCH, GROUP, upto)


def listed(upto: int) -> list[str]:
    return [f"{BATCH}:{GROUP}:{index}" for index in range(upto)]


@given(st.integers(1, 30), slices, slices)
def test_slices_of_slices_are_those_of_a_list(upto, first, second):
    part, expected = items(upto)[first][second], listed(upto)[first][second]

    assert list(part) == expected
    assert len(part) == len(expected)
    assert list(reversed(part)) == expected[::-1]
    assert [item in part for item in listed(upto)] == [item in expected for item in listed(upto)]


@given(st.integers(1, 30), slices, st.integers(-35, 35))
def test_an_index_is_that_of_a_list(upto, cut, at):
    part, expected = items(upto)[cut], listed(upto)[cut]
    if -len(expected) <= at < len(expected):
        assert part[at] == expected[at]
        assert part.index(expected[at]) == expected.index(expected[at])
    else:
        with pytest.raises(IndexError):
            part[at]


@given(slices, slices)
def test_equal_parts_are_equal_and_hash_alike(first, second):
    one, other = items(20)[first], items(20)[second]

    assert (one == other) == (list(one) == list(other))
    assert one != other or hash(one) == hash(other)


@given(st.integers(1, 30), st.integers(0, 29), st.integers(1, 30))
def test_a_range_parses_what_it_prints(upto, first, size):
    group = Items(BATCH, str(GroupId(5, upto, 7)), upto)
    part = group[first : first + size]

    assert not part or str(part) == f"{BATCH}:{group.group_id}:{part.indexes[0]}-{part.indexes[-1]}"
    assert not part or Items.parse(str(part)) == part


def test_items_that_are_no_range_print_as_code():
    assert str(items(4)[::2]) == repr(items(4)[::2])
    assert str(items(4)[:0]) == repr(items(4)[:0])


def test_the_largest_group_costs_nothing():
    whole = items(UPTO_MAX)
    tail = whole[-3:]

    assert len(whole) == UPTO_MAX
    assert list(islice(whole, 2)) == listed(2)
    assert list(tail) == [f"{BATCH}:{GROUP}:{index}" for index in range(UPTO_MAX - 3, UPTO_MAX)]
    assert tail[-1] in whole
    assert whole.index(tail[-1]) == UPTO_MAX - 1
    assert whole.count(tail[0]) == 1
    assert sys.getsizeof(whole[: UPTO_MAX // 2].__dict__) < 1000


@pytest.mark.parametrize(
    "stranger",
    [f"{GROUP}:{BATCH}:0", f"{BATCH}:{GROUP}:3", f"{BATCH}:{GROUP}:-1", f"{BATCH}:{GROUP}:00", "", 0, None],
)
def test_what_is_no_item_of_the_group_is_not_in_it(stranger):
    assert stranger not in items(3)
    assert items(3).count(stranger) == 0
    with pytest.raises(ValueError, match="is not in"):
        items(3).index(stranger)


def test_items_travel_to_other_processes():
    part = items(10**9)[5 : 10**9 : 7]

    assert pickle.loads(pickle.dumps(part)) == part  # noqa: S301  # our own bytes
    assert len(pickle.dumps(part)) < 500
