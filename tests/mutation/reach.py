"""Which lines of a room each test reaches, and how long it takes; kept in build/mutation by content."""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant
from tests.mutation.planting import Garden
from tests.mutation.rooms import ROOT

NAME = "__probes__"
Line = tuple[str, int]
"""A definition, as "file::name", and a line counted from its first one: other edits do not move it."""


@dataclass(slots=True)
class Reached:
    """What a test reaches: *lines* by definition, in *seconds* of CPU; *passes*: without any mutant."""

    seconds: float
    passes: bool
    lines: dict[str, list[int]] = field(default_factory=dict)


class Probes:
    """Statements that note that they run, planted into the functions of a room: they cost next to nothing.

    A statement of its own before each statement of a function sets a byte of ``hit``, that of its line.
    """

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []
        self.hit = bytearray()

    def plant(self, garden: Garden, files: Iterable[str]) -> None:
        """Plant probes into all functions of *files*, in this process."""
        for file in files:
            path = ROOT / file
            tree = ast.parse(path.read_text())
            self._define(tree.body, "", file)
            garden.replant(str(path), ast.fix_missing_locations(tree))
        self.hit = bytearray(len(self.lines))
        builtins.__dict__[NAME] = self.hit

    def taken(self) -> dict[str, list[int]]:
        """Return the lines that ran since the last call, by definition."""
        found: dict[str, list[int]] = defaultdict(list)
        for at, (definition, line) in enumerate(self.lines):
            if self.hit[at]:
                found[definition].append(line)
        self.hit[:] = bytes(len(self.lines))
        return dict(found)

    def _define(self, body: Iterable[Any], prefix: str, file: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._define(node.body, f"{prefix}{node.name}.", file)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                self._probe(node, f"{file}::{prefix}{node.name}", first)

    def _probe(self, node: Any, definition: str, first: int) -> None:
        """Put a probe before each statement within *node*."""
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if not isinstance(inner, list) or not inner:
                continue
            for each in inner:
                self._probe(each, definition, first)
            if isinstance(inner[0], ast.stmt):
                probed = [each for stmt in inner for each in (self._noting(stmt, definition, first), stmt)]
                setattr(node, name, probed)

    def _noting(self, stmt: ast.stmt, definition: str, first: int) -> ast.stmt:
        self.lines.append((definition, stmt.lineno - first))
        noting = ast.parse(f"{NAME}[{len(self.lines) - 1}] = 1").body[0]
        for each in ast.walk(noting):
            ast.copy_location(each, stmt)
        return noting


class Reach:
    """The tests of a room by what they reach, from the file *path*, and back into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
        self.by_line: dict[Line, set[str]] = defaultdict(set)
        self.by_definition: dict[str, set[str]] = defaultdict(set)
        self.by_file: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}

    def lacks(self, files: Iterable[str]) -> list[str]:
        """Return those test files whose reach is not known for their present content."""
        return [file for file in files if self.files.get(file, {}).get("content") != content(ROOT / file)]

    def keep(self, file: str, tests: dict[str, Reached]) -> None:
        """Keep what the tests of *file* reach."""
        kept = {
            name: {"seconds": each.seconds, "passes": each.passes, "lines": each.lines}
            for name, each in tests.items()
        }
        self.files[file] = {"content": content(ROOT / file), "tests": kept}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.files))

    def index(self, files: Iterable[str]) -> None:
        """Index the tests of *files* that pass without a mutant."""
        for file in files:
            for test, found in self.files.get(file, {}).get("tests", {}).items():
                if found["passes"]:
                    self._index(test, found)

    def _index(self, test: str, found: dict[str, Any]) -> None:
        self.seconds[test] = found["seconds"]
        for definition, numbers in found["lines"].items():
            self.by_definition[definition].add(test)
            self.by_file[definition.partition("::")[0]].add(test)
            for number in numbers:
                self.by_line[definition, number].add(test)

    def tests_of(self, mutant: Mutant, users: Callable[[Mutant], set[str]]) -> set[str]:
        """Return the tests that reach *mutant*; *users*: definitions that use a constant or a class."""
        definition = f"{mutant.file}::{mutant.spot.owner}"
        if mutant.spot.kind == "code":
            lines = {(definition, number - mutant.spot.first) for number in mutant.lines}
            found = set[str]().union(*(self.by_line.get(line, set()) for line in lines))
            return found or self.by_definition.get(definition, set())
        if mutant.spot.kind == "default":
            return self.by_definition.get(definition, set())
        found = set[str]().union(*(self.by_definition.get(name, set()) for name in users(mutant)))
        return found or self.by_file.get(mutant.file, set())


def content(path: Path) -> str:
    """Return a hash of the file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


class Users:
    """The definitions of a room that mention a name."""

    def __init__(self, files: Iterable[str]) -> None:
        self.by_name: dict[str, set[str]] = defaultdict(set)
        for file in files:
            body = ast.parse((ROOT / file).read_text()).body
            self._note(body, file, "")

    def _note(self, body: Iterable[Any], file: str, prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._note(node.body, file, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for each in ast.walk(node):
                    name = getattr(each, "id", None) or getattr(each, "attr", None)
                    if isinstance(name, str):
                        self.by_name[name].add(f"{file}::{prefix}{node.name}")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                self._note_constant(node, file)

    def _note_constant(self, node: Any, file: str) -> None:
        """A constant that is made of others: its users are theirs."""
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        for each in ast.walk(node.value) if node.value else ():
            if isinstance(each, ast.Name) and isinstance(target, ast.Name):
                self.by_name[each.id].add(f"={target.id}")

    def __call__(self, mutant: Mutant) -> set[str]:
        """Return the users of the constant, or of the class of the field and of the field."""
        pending, seen, found = [*mutant.spot.owner.split(".")], set[str](), set[str]()
        while pending:
            name = pending.pop()
            seen.add(name)
            for user in self.by_name.get(name, ()):
                if not user.startswith("="):
                    found.add(user)
                elif user[1:] not in seen:
                    pending.append(user[1:])
        return found
