"""The checker, on histories of a register, a counter of acks and a job that are right or broken by hand."""

from __future__ import annotations

from itertools import permutations
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.histories import checker
from tests.histories.checker import Undecided, check
from tests.histories.history import UNKNOWN, Operation


def register(state, operation):
    """A register: write sets it, read returns it, swap sets it if it holds what the caller has seen."""
    if operation.name == "write":
        yield operation.args[0]
    elif operation.name == "read":
        if operation.answer in (state, UNKNOWN):
            yield state
    else:
        seen, wanted = operation.args
        if operation.answer in (state == seen, UNKNOWN):
            yield wanted if state == seen else state


def op(name, *args, at, answer=None):
    began, ended = at
    return Operation("c", name, args, began, ended, answer)


def is_right(*operations):
    return check(operations, 0, register).right


def test_requests_one_after_the_other_are_answered_in_their_order():
    assert is_right(op("write", 1, at=(1, 2)), op("read", at=(3, 4), answer=1))
    assert not is_right(op("write", 1, at=(1, 2)), op("read", at=(3, 4), answer=0))


def test_a_stale_read_is_found():
    write = op("write", 1, at=(1, 6))
    assert is_right(write, op("read", at=(2, 3), answer=1), op("read", at=(4, 5), answer=1))
    assert is_right(write, op("read", at=(2, 3), answer=0), op("read", at=(4, 5), answer=1))
    assert not is_right(write, op("read", at=(2, 3), answer=1), op("read", at=(4, 5), answer=0))


def test_a_lost_write_is_found():
    writes = op("write", 1, at=(1, 2)), op("write", 2, at=(3, 4))
    assert is_right(*writes, op("read", at=(5, 6), answer=2))
    assert not is_right(*writes, op("read", at=(5, 6), answer=1))


def test_of_two_swaps_of_one_value_one_succeeds():
    swaps = [op("swap", 0, n, at=(1, 4), answer=True) for n in (1, 2)]
    assert not is_right(*swaps)
    swaps[1].answer = False
    assert is_right(*swaps)


def test_what_got_no_answer_takes_effect_at_any_later_moment_or_never():
    lost = op("write", 1, at=(1, inf), answer=UNKNOWN)
    assert is_right(lost, op("read", at=(2, 3), answer=0), op("read", at=(4, 5), answer=1))
    assert is_right(lost, op("read", at=(2, 3), answer=0), op("read", at=(4, 5), answer=0))
    assert not is_right(lost, op("read", at=(2, 3), answer=1), op("read", at=(4, 5), answer=0))
    late = op("write", 1, at=(4, inf), answer=UNKNOWN)
    assert not is_right(late, op("read", at=(2, 3), answer=1))


def test_an_operation_comes_after_those_that_it_names():
    write, read = op("write", 1, at=(1, 4)), op("read", at=(1, 4), answer=0)
    assert is_right(write, read)
    read.after = (write,)
    assert not is_right(write, read)


def test_the_order_that_was_found_is_given():
    swap, write = op("swap", 1, 2, at=(1, 9), answer=True), op("write", 1, at=(2, 8))

    assert check([swap, write], 0, register).order == [write, swap]
    assert check([], 0, register).right
    swap.args = (7, 8)
    assert check([swap, write], 0, register).order == [write]


def test_a_search_gives_up(monkeypatch):
    monkeypatch.setattr(checker, "VISITS_MAX", 50)
    with pytest.raises(Undecided, match="50 visits"):
        is_right(*(op("write", n, at=(1, 2)) for n in range(1, 9)), op("read", at=(3, 4), answer=9))


SPANS = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(
    lambda span: (2 * span[0], 2 * span[0] + 2 * span[1] + 1)
)
WRITES = st.builds(lambda value, at: op("write", value, at=at), st.integers(0, 2), SPANS)
READS = st.builds(lambda value, at: op("read", at=at, answer=value), st.integers(0, 2), SPANS)
SWAPS = st.builds(
    lambda seen, wanted, done, at: op("swap", seen, wanted, at=at, answer=done),
    st.integers(0, 2), st.integers(0, 2), st.booleans(), SPANS,
)  # fmt: skip


@given(st.lists(st.one_of(WRITES, READS, SWAPS), max_size=5), st.data(), st.sampled_from(((), ("read",))))
def test_the_checker_finds_what_trying_every_order_finds(operations, data, reads):
    for each in operations:
        if data.draw(st.integers(0, 4)) == 0:
            each.ended, each.answer = inf, UNKNOWN

    assert check(operations, 0, register, reads).right == any(map(is_an_order, subsets(operations)))


def subsets(operations):
    """Every order of all answered operations and of any of the others."""
    lost = [each for each in operations if not each.is_answered]
    for bits in range(1 << len(lost)):
        left_out = [each for at, each in enumerate(lost) if bits >> at & 1]
        yield from permutations([each for each in operations if each not in left_out])


def is_an_order(order):
    state = 0
    for at, operation in enumerate(order):
        if any(later.ended < operation.began for later in order[at + 1 :]):
            return False
        after = list(register(state, operation))
        if not after:
            return False
        state = after[0]
    return True
