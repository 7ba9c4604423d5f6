"""Plants changed code into the modules that this process has imported, and notes which lines run."""

from __future__ import annotations

import ast
import builtins
import gc
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.mutants import Mutant, mutated, source_of

NAME = "__lines__"
Position = tuple[str, str, int, int]
"""A file, the qualified name of a function in it, its first line, and which of those of that line it is."""


class Garden:
    """The functions of *files* in this process, by where their code stands."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self.root, self.files = root, list(files)
        self.functions: dict[Position, list[FunctionType]] = defaultdict(list)
        whole = [self._compiled(file, ast.parse(source_of(root / file))) for file in self.files]
        positions = {
            (each.co_filename, each): position for code in whole for position, each in _positioned(code)
        }
        for each in _functions():
            if position := positions.get((each.__code__.co_filename, each.__code__)):
                self.functions[position].append(each)

    def plant(self, mutant: Mutant) -> bool:
        """Change what runs in this process from now on; return whether anything is another."""
        path = str(self.root / mutant.file)
        code = self._compiled(mutant.file, mutated(source_of(Path(path)), mutant))
        changed = self._replace_code(code)
        if mutant.spot.kind == "code":
            return changed
        old = next(each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == path)
        fresh = {"__name__": old.__name__, "__file__": path, "__package__": old.__package__}
        exec(code, fresh)  # noqa: S102 - a module of this repository
        return self._replace_values(vars(old), fresh) or changed

    def watch(self) -> set[tuple[str, int]]:
        """Note each line of a function that runs from now on, in the set that is returned."""
        hit = builtins.__dict__[NAME] = set[tuple[str, int]]()
        for file in self.files:
            tree = ast.parse(source_of(self.root / file))
            for function in [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]:
                _watch(function, file)
            self._replace_code(self._compiled(file, ast.fix_missing_locations(tree)))
        return hit

    def users(self, name: str) -> set[tuple[str, int]]:
        """Return the first lines of the functions that mention *name*."""
        found = [position for position, each in self.functions.items() if name in each[0].__code__.co_names]
        return {(str(Path(file).relative_to(self.root)), line) for file, _, line, _ in found}

    def _compiled(self, file: str, tree: ast.Module) -> CodeType:
        return compile(tree, str(self.root / file), "exec", dont_inherit=True)

    def _replace_code(self, whole: CodeType) -> bool:
        changed = False
        for position, code in _positioned(whole):
            for old in self.functions.get(position, ()):
                if old.__code__ != code and len(code.co_freevars) == len(old.__code__.co_freevars):
                    old.__code__, changed = code, True
        return changed

    def _replace_values(self, old: dict[str, Any], fresh: dict[str, Any]) -> bool:
        """Take over the defaults, the constants and the fields of classes that are others in *fresh*."""
        changed = False
        for new in [each for each in _functions() if each.__globals__ is fresh]:
            for each in self.functions.get(_position(new.__code__), ()):
                changed |= _take_defaults(each, new)
        for name in old.keys() & fresh.keys():
            if isinstance(fresh[name], type) and fresh[name].__module__ == fresh["__name__"]:
                changed |= _take_fields(old[name], fresh[name])
            elif _is_constant(fresh[name]) and fresh[name] != old[name]:
                _rebind(name, old[name], fresh[name])
                changed = True
        return changed


def _watch(node: Any, file: str) -> None:
    """Put a statement that notes the line before each statement within *node*."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, None) or []
        for each in inner:
            if not isinstance(each, ast.FunctionDef | ast.ClassDef):
                _watch(each, file)
        if inner and isinstance(inner[0], ast.stmt):
            noted = [ast.parse(f"{NAME}.add({(file, each.lineno)!r})").body[0] for each in inner]
            setattr(node, name, [each for pair in zip(noted, inner, strict=True) for each in pair])


def _functions() -> list[FunctionType]:
    return [each for each in gc.get_objects() if isinstance(each, FunctionType)]


def _position(code: CodeType, number: int = 0) -> Position:
    return code.co_filename, code.co_qualname, code.co_firstlineno, number


def _positioned(whole: CodeType) -> Iterator[tuple[Position, CodeType]]:
    """Yield the codes in *whole*: several lambdas may begin in one line."""
    seen: Counter[Position] = Counter()
    for code in _codes(whole):
        yield _position(code, seen[_position(code)]), code
        seen[_position(code)] += 1


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _is_constant(value: object) -> bool:
    return not isinstance(value, type | FunctionType | ModuleType)


def _is_field(name: str, value: object) -> bool:
    return not name.startswith("__") and not callable(value) and not hasattr(value, "__get__")


def _take_defaults(old: FunctionType, new: FunctionType) -> bool:
    before = (old.__defaults__, old.__kwdefaults__)
    old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    return before != (old.__defaults__, old.__kwdefaults__)


def _take_fields(old: type, new: type) -> bool:
    """Take over the constants of a class, and the defaults of a dataclass."""
    changed = False
    for name, value in vars(new).items():
        if name == "__init__" and "__dataclass_fields__" in vars(new):
            changed |= _take_defaults(vars(old)[name], value)
        elif _is_field(name, value) and vars(old).get(name) != value:
            setattr(old, name, value)
            changed = True
    return changed


def _rebind(name: str, old: object, new: object) -> None:
    """Give *name* another value, also in the modules that imported it, and as a default of functions."""
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and vars(module).get(name, _rebind) is old:
            setattr(module, name, new)
    if not isinstance(old, int | str | bool | None):
        for function in _functions():
            defaults = function.__defaults__ or ()
            if any(each is old for each in defaults):
                function.__defaults__ = tuple(new if each is old else each for each in defaults)
