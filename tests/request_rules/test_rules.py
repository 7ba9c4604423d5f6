"""Each rule: a request at its limit and below it passes, and one beyond it is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest

from fanin.local import request_rules
from fanin.local.request_rules import Refused, Tables, check
from tests.request_rules.limits import LIMITS
from tests.request_rules.requests import TABLE, get, tables
from tests.request_rules.wrong import PASSES, REFUSED

RULES = Path(request_rules.__file__).parent
COUNTS = frozenset({"bounded", "_within", "_check_count", "_check_text"})
"""The functions that compare a number with its limit."""
REASONS = frozenset({"invalid", "Refused", "expect"})
Place = tuple[str, int]


@pytest.mark.parametrize("what", LIMITS)
def test_a_request_at_its_limit_and_below_it_passes_and_one_beyond_it_is_refused(what):
    limit = LIMITS[what]
    for count in (limit.most - limit.step, limit.most):
        check(limit.operation, limit.request(count), tables())

    with pytest.raises(Refused) as found:
        check(limit.operation, limit.request(limit.most + limit.step), tables())
    assert found.value.page == limit.page


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_request_is_refused(what):
    operation, refused, reason = REFUSED[what]

    with pytest.raises(Refused, match=reason) as found:
        check(operation, refused, tables())
    assert found.value.page, "a rule names the page that has it"


@pytest.mark.parametrize("what", PASSES)
def test_a_right_request_passes(what):
    operation, passes = PASSES[what]

    check(operation, passes, tables())


def _lines(requests: Iterable[tuple[str, Any]]) -> set[Place]:
    """Return the lines of the rules that are on the way to the refusals of *requests*."""
    found = set()
    for operation, request in requests:
        with pytest.raises(Refused) as refused:
            check(operation, request, tables())
        found |= {(Path(f.f_code.co_filename).name, line) for f, line in walk_tb(refused.tb)}
    return found


def _calls(names: frozenset[str]) -> Iterator[tuple[str, range]]:
    """Yield where the rules call functions of these *names*, but in one of them: the file and its lines."""
    for path in RULES.glob("*.py"):
        tree = ast.parse(path.read_text())
        defined = [each for each in ast.walk(tree) if getattr(each, "name", "") in COUNTS | REASONS]
        within = {id(each) for function in defined for each in ast.walk(function)}
        for each in ast.walk(tree):
            if isinstance(each, ast.Call) and id(each) not in within and _called(each) in names:
                yield path.name, range(each.lineno, (each.end_lineno or each.lineno) + 1)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", "") or getattr(call.func, "attr", "")


def _without_row(names: frozenset[str], seen: set[Place]) -> list[str]:
    return [
        f"{name}:{lines[0]}"
        for name, lines in _calls(names)
        if not any((name, line) in seen for line in lines)
    ]


def test_every_limit_has_a_row_with_the_requests_around_it():
    beyond = _lines((each.operation, each.request(each.most + each.step)) for each in LIMITS.values())

    assert _without_row(COUNTS, beyond) == []


def test_every_other_rule_has_a_row():
    numbers = ((each.operation, each.request(each.most + each.step)) for each in LIMITS.values())
    others = ((operation, request) for operation, request, _ in REFUSED.values())

    assert _without_row(REASONS, _lines([*numbers, *others])) == []


class Rows(Tables):
    """Tables whose rows all have as many bytes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.learn(TABLE)
        self.size = size

    def stored(self, _name, _key, /):
        return {"x": {"S": "x" * (self.size - 1)}}


@pytest.mark.parametrize(("rest", "passes"), [(-1, True), (0, True), (1, False)])
def test_the_rows_that_a_transaction_reads_have_4_mb_together(rest, passes):
    reads = {"TransactItems": [{"Get": get(sk=str(each))} for each in range(16)]}
    rows = Rows(4 * 1024 * 1024 // 16 + rest)

    if passes:
        check("TransactGetItems", reads, rows)
    else:
        with pytest.raises(Refused, match="4,194,320, and at most 4,194,304"):
            check("TransactGetItems", reads, rows)
