"""Several requests at once, and pauses."""

from __future__ import annotations

import threading

import pytest

from fanin.pacing import THREADS, each_in_threads, each_in_turn


@pytest.mark.parametrize("each", [each_in_turn, each_in_threads])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_answers_are_in_the_order_of_the_values(each, count):
    assert each(lambda i: i * i, list(range(count))) == [i * i for i in range(count)]


@pytest.mark.parametrize("each", [each_in_turn, each_in_threads])
def test_an_error_of_one_is_the_error_of_all(each):
    with pytest.raises(ZeroDivisionError):
        each(lambda i: 1 // (i - 7), list(range(20)))


def test_so_many_go_at_once_and_no_more():
    """All threads meet at a barrier, which breaks if one is missing; more cannot be there."""
    together, running = threading.Barrier(THREADS, timeout=120), set()

    def meet(_):
        together.wait()
        running.add(threading.get_ident())

    each_in_threads(meet, list(range(2 * THREADS)))

    assert len(running) == THREADS
