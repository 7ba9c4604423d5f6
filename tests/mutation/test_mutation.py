"""The tool: its operators on small sources, what it plants, and the list of equivalent mutants."""

from __future__ import annotations

import ast
from textwrap import dedent
from types import SimpleNamespace

import pytest

from tests.mutation.__main__ import equivalents, generated
from tests.mutation.mutants import mutants_of, mutated
from tests.mutation.results import score
from tests.mutation.rooms import ROOMS
from tests.mutation.running import Bench, Job


def changed(source: str, operator: str = "") -> list[str]:
    """The source with each change of it in turn."""
    text = dedent(source)
    fitting = [mutant for mutant in mutants_of(text, "sample.py") if mutant.operator.startswith(operator)]
    return [ast.unparse(mutated(text, mutant)) for mutant in fitting]


def bodies(statement: str, operator: str = "") -> list[str]:
    """The one statement of a function with each change of it in turn."""
    return [text.partition("\n")[2].strip() for text in changed(f"def f(a, b):\n    {statement}", operator)]


@pytest.mark.parametrize(
    ("statement", "operator", "expected"),
    [
        ("g(a < b)", "compare", ["g(a <= b)"]),
        ("g(a == b)", "compare", ["g(a != b)"]),
        ("g(a is None)", "compare", ["g(a is not None)"]),
        ("g(a and b)", "and-or", ["g(a or b)"]),
        ("g(a and b)", "drop-operand", ["g(b)", "g(a)"]),
        ("g(not a)", "unary", ["g(a)"]),
        ("g(a + b)", "compute", ["g(a - b)"]),
        ("g(a & ~b)", "drop-right", ["g(a)"]),
        ("g(5)", "constant", ["g(6)", "g(4)"]),
        ("g(True)", "constant", ["g(False)"]),
        ("g(a, ConsistentRead=True)", "drop-argument[ConsistentRead]", ["g(a)"]),
        ("g({'a': a, 'b': b})", "drop-entry", ["g({'b': b})", "g({'a': a})"]),
        ("g([a, b])", "drop-element", ["g([b])", "g([a])"]),
        ("g((State.OPEN, State.CLOSED))", "drop-element", ["g((State.CLOSED,))", "g((State.OPEN,))"]),
        ("g([x for x in a if x])", "drop-filter", ["g([x for x in a])"]),
        ("g(a[1:b])", "drop-upper", ["g(a[1:])"]),
        ("g(min(a, b))", "swap-call", ["g(max(a, b))"]),
        ("return a", "return-none", ["return None"]),
        ("raise ValueError('no')", "drop-raise", ["pass"]),
        ("a.b = 1", "drop-assign", ["pass"]),
        ("a += b", "compute", ["a -= b"]),
    ],
)
def test_an_operator_makes_its_changes(statement, operator, expected):
    assert bodies(statement, operator) == expected


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        (
            "#st = :a AND #n = :b",
            "drop-clause",
            ["((#st = :a) OR NOT (#st = :a)) AND #n = :b", "#st = :a AND ((#n = :b) OR NOT (#n = :b))"],
        ),
        ("#a = :a OR #b = :b", "or-joined", ["#a = :a AND #b = :b"]),
        ("#n >= :b", "compared", ["#n > :b"]),
        ("#n = :b", "compared", ["#n <> :b", "#n >= :b", "#n <= :b"]),
        ("attribute_exists(a)", "existence", ["attribute_not_exists(a)"]),
        ("(a = :a OR b = :b) AND c = :c", "or-joined", ["(a = :a AND b = :b) AND c = :c"]),
        ("SET a = :a, b = :b REMOVE c", "drop-action", ["SET b = :b REMOVE c", "SET a = :a REMOVE c"]),
        ("SET a = :a REMOVE c", "drop-section", [" REMOVE c", "SET a = :a"]),
    ],
)
def test_a_dynamodb_expression_is_changed_as_such(text, operator, expected):
    assert bodies(f"g({text!r})", operator) == [f"g({each!r})" for each in expected]


def test_words_types_logs_and_docstrings_are_left_as_they_are():
    source = '''
        """A module of 3."""
        Kind = dict[str, 3]

        class Port(Protocol):
            def get(self, limit: int = 3) -> int: ...

        def f(a: Literal[3]) -> Literal[3]:
            """Return 3."""
            logger.info("3", 3)
            assert a == 3

        def __repr__(self):
            return 3
    '''

    assert changed(source) == []


def test_all_generated_mutants_have_ids_of_their_own():
    found = [mutant for room in ROOMS.values() for mutant in generated(room)]

    assert len({mutant.id for mutant in found}) == len(found) > 5000


def test_a_mutant_counts_as_equivalent_only_while_it_survives():
    rows = [
        {"id": "a", "status": "killed"},
        {"id": "b", "status": "survived"},
        {"id": "c", "status": "survived"},
        {"id": "d", "status": "unplantable"},
    ]

    found = score("room", {"file"}, rows, {"a", "b"})

    assert (found.mutants, found.killed, found.equivalent, found.survivors) == (3, 1, 1, 1)
    assert found.percent == "50.0 %"


def test_a_mutant_that_no_test_reaches_survives():
    (mutant, *_) = mutants_of("def f(a):\n    g(a < 1)\n", "sample.py")
    bench = Bench.__new__(Bench)
    bench.items, bench.garden = {}, SimpleNamespace(plant=lambda _: None)

    assert bench._judged(Job(mutant, []), {}) == ["survived", "", 0]


def test_each_equivalent_mutant_exists_and_has_a_reason():
    ids = {mutant.id for room in ROOMS.values() for mutant in generated(room)}

    assert [name for name in equivalents() if name not in ids] == []
    assert [name for name, reason in equivalents().items() if len(reason) < 20] == []
