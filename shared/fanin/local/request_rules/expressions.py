"""Parses the expressions of DynamoDB and returns what the rules need: operators, placeholders, paths.

The grammar is that of the Developer Guide: "Condition and filter expressions, operators, and functions",
"Update expressions", "Projection expressions" and "Key condition expressions".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from fanin.local.request_rules.refusal import bounded, invalid
from fanin.local.request_rules.reserved import RESERVED

TOKEN = re.compile(r"\s*(?P<token>[#:][A-Za-z0-9_]+|[A-Za-z][A-Za-z0-9_]*|[0-9]+|<>|<=|>=|[=<>(),.\[\]+-]|$)")
BYTES_MAX = 4096
OPERATORS_MAX = 300
OPERANDS_MAX = 100
DEPTH_MAX = 32
PAGE = "Quotas in Amazon DynamoDB, Expression parameters"
GUIDE = "DynamoDB Developer Guide, Condition and filter expressions, operators, and functions"
UPDATES = "DynamoDB Developer Guide, Update expressions"
PATHS = "DynamoDB Developer Guide, Specifying item attributes"
COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
# The number of arguments of each function.
CONDITIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
OPERANDS = {"size": 1}
IN_UPDATES = {"if_not_exists": 2, "list_append": 2}
FUNCTIONS = {**CONDITIONS, **OPERANDS, **IN_UPDATES}

Path = tuple[str | int, ...]
"""The names and list indexes of a document path; names as written, so ``#name`` for a placeholder."""
Operand = Path | str
"""A path, the placeholder of a value (``:value``), or the name of the function whose result it is."""


@dataclass(frozen=True, slots=True)
class Write:
    """One action of an update expression; *value* is the placeholder where the operand is one alone."""

    clause: str
    path: Path
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function with its operands."""

    operator: str
    operands: tuple[Operand, ...]


@dataclass(slots=True)
class Parsed:
    """What an expression consists of."""

    operators: int = 0
    names: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    paths: list[Path] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    """Its comparisons, functions and sums."""
    joins: set[str] = field(default_factory=set)
    """Which of AND, OR and NOT it has."""


@lru_cache(maxsize=4096)
def parsed(kind: str, text: str) -> Parsed:
    """Return the expression *text*, of the parameter *kind*; raise Refused if AWS would not accept it.

    The result is shared by all callers: it is not to be changed.
    """
    if not text:
        raise invalid(f"Invalid {kind}: The expression can not be empty", PAGE)
    bounded(f"Invalid {kind}: bytes of the expression", len(text.encode()), BYTES_MAX, PAGE)
    parser = _Parser(kind, _tokens(kind, text))
    start: dict[str, Callable[[], object]] = {"UpdateExpression": parser.update}
    start["ProjectionExpression"] = parser.projection
    start.get(kind, parser.condition)()
    parser.expect("")
    bounded(f"Invalid {kind}: operators and functions", parser.found.operators, OPERATORS_MAX, PAGE)
    return parser.found


def _tokens(kind: str, text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise invalid(f"Invalid {kind}: Syntax error near {text[at : at + 20]!r}", GUIDE)
        found.append(match["token"])
        at = match.end()
    return [token for token in found if token] + [""]


class _Parser:
    def __init__(self, kind: str, tokens: list[str]) -> None:
        self.kind, self.tokens, self.at = kind, tokens, 0
        self.found = Parsed()

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    @property
    def keyword(self) -> str:
        return self.next.upper()

    def take(self) -> str:
        token = self.next
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.next != token:
            near = " ".join(self.tokens[self.at : self.at + 5]) or "the end"
            raise invalid(
                f"Invalid {self.kind}: Syntax error; {token or 'the end'!r} expected near {near!r}", GUIDE
            )
        self.at += token != ""

    def operator(self) -> str:
        """Take an operator, keyword or function, and count it."""
        self.found.operators += 1
        return self.take()

    # Conditions, filters and key conditions.

    def join(self) -> None:
        self.found.joins.add(self.operator().upper())

    def condition(self) -> None:
        self.conjunction()
        while self.keyword == "OR":
            self.join()
            self.conjunction()

    def conjunction(self) -> None:
        self.negation()
        while self.keyword == "AND":
            self.join()
            self.negation()

    def negation(self) -> None:
        while self.keyword == "NOT":
            self.join()
        if self.next == "(":
            self.group()
        elif self.next in CONDITIONS:
            self.function(CONDITIONS)
        else:
            self.comparison()

    def group(self) -> None:
        first = self.at
        self.take()
        self.condition()
        last = self.at
        self.expect(")")
        if self.tokens[first + 1] == "(" and self.closing(first + 1) == last - 1:
            raise invalid(f"Invalid {self.kind}: The expression has redundant parentheses", GUIDE)

    def closing(self, at: int) -> int:
        """Return the position of the parenthesis that closes that at *at*."""
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self.tokens[at], 0)
            if depth == 0:
                return at
            at += 1

    def comparison(self) -> None:
        first = self.operand(OPERANDS)
        if self.next in COMPARATORS:
            self.called(self.operator(), first, self.operand(OPERANDS))
        elif self.keyword == "BETWEEN":
            self.called(self.operator().upper(), first, *self.bounds())
        elif self.keyword == "IN":
            operator, listed = self.operator().upper(), self.arguments(OPERANDS)
            bounded(f"Invalid {self.kind}: operands of IN", len(listed), OPERANDS_MAX, PAGE)
            self.called(operator, first, *listed)
        else:
            self.expect("a comparison")

    def bounds(self) -> tuple[Operand, Operand]:
        low = self.operand(OPERANDS)
        if self.keyword != "AND":
            self.expect("AND")
        self.take()
        return low, self.operand(OPERANDS)

    def called(self, operator: str, *operands: Operand) -> None:
        self.found.calls.append(Call(operator, operands))

    def function(self, known: dict[str, int]) -> str:
        """Take a function with its operands, and return its name."""
        name = self.operator()
        found = self.arguments(IN_UPDATES if name in IN_UPDATES else OPERANDS)
        if len(found) != known[name]:
            detail = f"Incorrect number of operands for {name}; {len(found)}"
            raise invalid(f"Invalid {self.kind}: {detail}", GUIDE)
        self.called(name, *found)
        return name

    def arguments(self, functions: dict[str, int]) -> list[Operand]:
        """Take operands in parentheses and return them."""
        self.expect("(")
        found = [self.operand(functions)]
        while self.next == ",":
            self.take()
            found.append(self.operand(functions))
        self.expect(")")
        return found

    def operand(self, functions: dict[str, int]) -> Operand:
        """Take a value, a function or a path."""
        if self.next.startswith(":"):
            self.found.values.add(self.next)
            return self.take()
        if self.next in FUNCTIONS and self.tokens[self.at + 1] == "(":
            if self.next not in functions:
                raise invalid(f"Invalid {self.kind}: The function {self.next} is not allowed here", GUIDE)
            return self.function(functions)
        return self.path()

    def path(self) -> Path:
        parts: list[str | int] = [self.name()]
        while self.next in {".", "["}:
            if self.take() == ".":
                parts.append(self.name())
            else:
                parts.append(self.index())
        found = tuple(parts)
        bounded(f"Invalid {self.kind}: dereference operators of a path", len(found) - 1, DEPTH_MAX, PATHS)
        self.found.paths.append(found)
        return found

    def name(self) -> str:
        token = self.next
        if token.startswith("#"):
            self.found.names.add(token)
        elif not token[:1].isalpha():
            self.expect("an attribute's name")
        elif token.upper() in RESERVED:
            detail = f"Invalid {self.kind}: Attribute name is a reserved keyword; reserved keyword: {token}"
            raise invalid(detail, "DynamoDB Developer Guide, reserved words in DynamoDB")
        return self.take()

    def index(self) -> int:
        if not self.next.isdigit():
            self.expect("an index")
        found = int(self.take())
        self.expect("]")
        return found

    # Updates and projections.

    def projection(self) -> None:
        self.path()
        while self.next == ",":
            self.take()
            self.path()

    def update(self) -> None:
        actions = {"SET": self.assign, "REMOVE": self.remove, "ADD": self.add, "DELETE": self.add}
        seen: set[str] = set()
        while self.keyword in actions:
            clause = self.take().upper()
            if clause in seen:
                detail = f'Invalid UpdateExpression: The "{clause}" section can only be used once'
                raise invalid(detail, UPDATES)
            seen.add(clause)
            actions[clause](clause)
            while self.next == ",":
                self.take()
                actions[clause](clause)
        if not seen:
            self.expect("SET, REMOVE, ADD or DELETE")

    def assign(self, clause: str) -> None:
        """Take a path and its value: an operand, or the sum or difference of two, and never of three.

        The page of quotas counts the operators of ``:a + :b + :c``, which the grammar does not have.
        """
        path = self.path()
        self.expect("=")
        first = self.operand(IN_UPDATES)
        is_value = isinstance(first, str) and first.startswith(":")
        if self.next in {"+", "-"}:
            self.called(self.operator(), first, self.operand(IN_UPDATES))
            is_value = False
        self.found.writes.append(Write(clause, path, str(first) if is_value else None))

    def remove(self, clause: str) -> None:
        self.found.writes.append(Write(clause, self.path()))

    def add(self, clause: str) -> None:
        path = self.path()
        if not self.next.startswith(":"):
            self.expect("a value")
        value = self.take()
        self.found.values.add(value)
        self.found.writes.append(Write(clause, path, value))
