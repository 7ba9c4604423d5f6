"""The mutants of a module: where they are, what they change, and ids that do not depend on other lines.

Left out: annotations, docstrings, decorators, assertions, log lines, the wording of errors, ``__repr__``,
members of enumerations, protocols, and what only type checkers read.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tests.mutation.operators import OPTIONAL, changes

Step = tuple[str, int | None]
"""A field of a node, and the place in it if the field is a list."""

SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "ctx", "op", "ops", "format_spec"}
LOGGERS = ("logger", "log", "warnings")
LOGGING = {"log_failure", "cast", "TypeVar"}
UNSPOKEN = {"__repr__", "__str__"}
NO_RULES = ("Enum", "Protocol", "NamedTuple", "TypedDict")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a mutant is planted.

    *kind*: "code" of a function, "default" of an argument, "name" of a module, or "field" of a class.
    *owner*: the qualified name of the function, name or field; *first*: the line on which its code begins.
    """

    kind: str
    owner: str
    first: int = 0


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one node. *lines*: those of its statement; *text*: the line that is changed."""

    file: str
    spot: Spot
    operator: str
    path: tuple[Step, ...]
    new: ast.AST = field(compare=False, repr=False)
    lines: range = range(0)
    line: int = 0
    text: str = ""
    id: str = ""


@dataclass(slots=True)
class _Walk:
    """Goes through a module, and yields a mutant for each change of each node."""

    file: str
    source: list[str]

    def module(self, tree: ast.Module) -> Iterator[Mutant]:
        for at, node in enumerate(tree.body):
            yield from self._definition(node, (("body", at),), "")

    def _definition(self, node: ast.stmt, path: tuple[Step, ...], prefix: str) -> Iterator[Mutant]:
        """What stands in a module or a class."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self._function(node, path, prefix + node.name)
        elif isinstance(node, ast.ClassDef) and not _is_without_rules(node):
            for at, each in enumerate(node.body):
                yield from self._definition(each, (*path, ("body", at)), f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not _is_for_types(node):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and node.value is not None and target.id != "__all__":
                spot = Spot("field" if prefix else "name", prefix + target.id)
                yield from self._inside(node.value, (*path, ("value", None)), spot, node)

    def _function(self, node: Any, path: tuple[Step, ...], owner: str) -> Iterator[Mutant]:
        if node.name in UNSPOKEN or any("overload" in ast.unparse(each) for each in node.decorator_list):
            return
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        for name in ("defaults", "kw_defaults"):
            for at, default in enumerate(getattr(node.args, name)):
                where = (*path, ("args", None), (name, at))
                if default is not None:
                    yield from self._inside(default, where, Spot("default", owner, first), default)
        for at, each in enumerate(node.body):
            yield from self._inside(each, (*path, ("body", at)), Spot("code", owner, first), each)

    def _inside(self, node: ast.AST, path: tuple[Step, ...], spot: Spot, stmt: ast.AST) -> Iterator[Mutant]:
        """The changes of *node* and of what is in it; *stmt*: the statement that it belongs to."""
        if _is_skipped(node):
            return
        if isinstance(node, ast.stmt | ast.comprehension | ast.ExceptHandler):
            stmt = node if isinstance(node, ast.stmt) else stmt
        for operator, new in changes(node):
            yield self._mutant(operator, new, node, path, spot, stmt)
        if isinstance(node, ast.Raise):
            return
        for step, each in _parts(node):
            yield from self._inside(each, (*path, step), spot, stmt)

    def _mutant(
        self, operator: str, new: ast.AST, node: ast.AST, path: tuple[Step, ...], spot: Spot, stmt: ast.AST
    ) -> Mutant:
        line = getattr(node, "lineno", None) or getattr(stmt, "lineno", 0)
        return Mutant(self.file, spot, operator, path, new, _lines(stmt), line, self.source[line - 1].strip())


def mutants_of(source: str, file: str) -> list[Mutant]:
    """Return the mutants of the module *source*, each with an id, in the order of the source."""
    seen: Counter[str] = Counter()
    found = []
    for mutant in _Walk(file, source.splitlines()).module(ast.parse(source)):
        mark = hashlib.sha256(mutant.text.encode()).hexdigest()[:6]
        stem = f"{file}:{mutant.spot.owner}:{mutant.operator}"
        seen[f"{stem}:{mark}"] += 1
        found.append(replace(mutant, id=f"{stem}:{seen[f'{stem}:{mark}']}:{mark}"))
    return found


@cache
def source_of(path: Path) -> str:
    """Return the text of a module as it was when it was first read: an edit changes no mutant of this run."""
    return path.read_text()


def edited(node: Any, path: tuple[Step, ...], new: Any) -> Any:
    """Return the tree *node* with *new* at *path*; *node* stays as it is."""
    if not path:
        return new
    (name, at), below = path[0], path[1:]
    changed, value = copy.copy(node), getattr(node, name)
    if at is None:
        setattr(changed, name, edited(value, below, new))
    else:
        setattr(changed, name, [*value[:at], edited(value[at], below, new), *value[at + 1 :]])
    return changed


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of *source* with the change; its other lines keep their numbers."""
    tree = ast.parse(source)
    node: Any = tree
    for name, at in mutant.path:
        node = getattr(node, name) if at is None else getattr(node, name)[at]
    new = copy.copy(mutant.new)
    if hasattr(node, "lineno"):
        new = ast.copy_location(new, node)
    return ast.fix_missing_locations(edited(tree, mutant.path, new))


def shown(root: Path, mutant: Mutant) -> str:
    """Return the line of a mutant, and how its statement reads with the change."""
    tree = mutated(source_of(root / mutant.file), mutant)
    at: Any = tree
    last: Any = tree
    for name, place in mutant.path:
        at = getattr(at, name) if place is None else getattr(at, name)[place]
        if isinstance(at, ast.stmt) and not isinstance(at, ast.FunctionDef | ast.ClassDef):
            last = at
    whole = ast.unparse(last).splitlines()
    return f"{mutant.id}\n  {mutant.file}:{mutant.line}: {mutant.text}\n  -> " + "\n     ".join(whole[:6])


def _lines(stmt: Any) -> range:
    """The lines of a statement; those of its head if it has a body."""
    body = getattr(stmt, "body", None)
    head = body[0].lineno if isinstance(body, list) and body else stmt.end_lineno + 1
    return range(stmt.lineno, max(head, stmt.lineno + 1))


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.Pass | ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in OPTIONAL
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_log(node.value)
    return isinstance(node, ast.Call) and _is_log(node)


def _is_log(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    return name in LOGGING or name.partition(".")[0] in LOGGERS


def _parts(node: ast.AST) -> Iterator[tuple[Step, ast.AST]]:
    """Yield what is in a node and can be changed by itself."""
    for name, value in ast.iter_fields(node):
        if name not in SKIPPED_FIELDS:
            for at, each in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(each, ast.AST) and not _is_text_of_fstring(node, each):
                    yield (name, at), each


def _is_text_of_fstring(node: ast.AST, each: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) and isinstance(each, ast.Constant)


def _is_without_rules(node: ast.ClassDef) -> bool:
    """A protocol has no code. Methods of an enumeration are few and read with their members."""
    names = [ast.unparse(base) for base in node.bases]
    return any(name.split("[")[0].endswith(NO_RULES) for name in names)


def _is_for_types(node: Any) -> bool:
    """Whether a module's assignment names a type: ``Item = dict[str, Any]``."""
    value = node.value
    return isinstance(value, ast.Subscript) or (
        isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr) and "None" in ast.unparse(value)
    )
