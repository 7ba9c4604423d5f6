"""A parse is whole though another one ran in its midst."""

import ast
import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.parsing import MOST_PARSES, parse

SOURCE = "\n".join(f"name_{number} = [{number}, (1, 2, 3)]" for number in range(500))


@contextmanager
def during_a_collection(call: Callable[[], object], times: int) -> Iterator[None]:
    """Make *call* in the midst of the next *times* collections of garbage."""
    left = [None] * times

    def collected(phase: str, _info: object) -> None:
        if phase == "start" and left:
            left.pop()
            call()

    thresholds = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collected)
    assert not left


def test_a_parse_in_the_midst_of_a_parse_spoils_neither():
    assert ast.parse is parse
    others = []
    expected = ast.dump(parse(SOURCE))
    with during_a_collection(lambda: others.append(parse("a = 1")), times=5):
        found = parse(SOURCE)
    assert ast.dump(found) == expected
    assert {ast.dump(other) for other in others} == {ast.dump(parse("a = 1"))}


MISMATCH = "AST constructor recursion depth mismatch (before=165, after=73)"


@pytest.mark.parametrize(("message", "parses"), [(MISMATCH, MOST_PARSES), ("another", 1)])
def test_another_defect_is_raised_at_once_and_this_one_at_last(monkeypatch, message, parses):
    seen = []

    def broken(source: str) -> None:
        seen.append(source)
        raise SystemError(message)

    monkeypatch.setattr("tests.parsing._parse", broken)
    with pytest.raises(SystemError, match=re.escape(message)):
        parse("a = 1")
    assert seen == ["a = 1"] * parses
