"""Plants a mutant in this process: in the functions, modules and classes that are already imported."""

from __future__ import annotations

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import Field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.mutants import Mutant, mutated, source_of

Place = tuple[str, str, int]
"""A file, the qualified name of a function in it, and its first line."""


class Unplantable(Exception):
    """The change cannot be made in a running process; the mutant is not counted."""


class Garden:
    """The functions of the rooms in this process, by where their code stands."""

    def __init__(self, root: Path, rooms: tuple[str, ...]) -> None:
        self.root = root
        self.functions: dict[Place, list[FunctionType]] = defaultdict(list)
        within = tuple(str(root / room) for room in rooms)
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(within):
                self.functions[place_of(each.__code__)].append(each)

    def plant(self, mutant: Mutant) -> None:
        """Change what runs in this process from now on; raise Unplantable where that cannot be done."""
        path = self.root / mutant.file
        tree = mutated(source_of(path), mutant)
        if mutant.spot.kind == "code":
            self._plant_code(str(path), tree, mutant)
        elif mutant.spot.kind == "default":
            self._plant_default(str(path), tree, mutant)
        else:
            _plant_value(module_of(path), tree, mutant)

    def replant(self, path: str, tree: ast.Module) -> None:
        """Give each function of the module at *path* the code that it has in *tree*."""
        for code in codes(compile(tree, path, "exec", dont_inherit=True)):
            for function in self.functions.get(place_of(code), ()):
                if len(code.co_freevars) == len(function.__code__.co_freevars):
                    function.__code__ = code

    def _plant_code(self, path: str, tree: ast.Module, mutant: Mutant) -> None:
        place = (path, mutant.spot.owner, mutant.spot.first)
        whole = compile(tree, path, "exec", dont_inherit=True)
        code = next((each for each in codes(whole) if place_of(each) == place), None)
        if code is None or place not in self.functions:
            raise Unplantable(f"no function {place}")
        for function in self.functions[place]:
            if len(code.co_freevars) != len(function.__code__.co_freevars):
                raise Unplantable("the change needs another closure")
            function.__code__ = code

    def _plant_default(self, path: str, tree: ast.Module, mutant: Mutant) -> None:
        functions = self.functions.get((path, mutant.spot.owner, mutant.spot.first))
        if not functions:
            raise Unplantable(f"no function {mutant.spot.owner}")
        steps = mutant.path
        at = next(n for n, step in enumerate(steps) if step[0] in ("defaults", "kw_defaults"))
        node = _at(tree, steps[: at + 1])
        name, number = steps[at]
        for function in functions:
            value = _evaluated(node, dict(function.__globals__))
            if name == "defaults":
                old = list(function.__defaults__ or ())
                old[number or 0] = value
                function.__defaults__ = tuple(old)
            else:
                names = _at(tree, steps[: at - 1]).args.kwonlyargs
                function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), names[number or 0].arg: value}


def place_of(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code and all codes within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def module_of(path: Path) -> ModuleType:
    """Return the imported module of the file *path*."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path) and module.__name__ != "__main__":
            return module
    raise Unplantable(f"{path} is not imported")


def _plant_value(module: ModuleType, tree: ast.Module, mutant: Mutant) -> None:
    steps = mutant.path
    at = next(n for n, step in enumerate(steps) if step == ("value", None))
    node = _at(tree, steps[: at + 1])
    *holders, name = mutant.spot.owner.split(".")
    if not holders:
        _rebind(module, name, _evaluated(node, dict(vars(module))))
        _derive(module, tree, {name})
        return
    owner: Any = module
    for holder in holders:
        owner = getattr(owner, holder)
    value = _evaluated(node, {**vars(module), **vars(owner)})
    if isinstance(value, Field):
        raise Unplantable("the methods of a dataclass are made of its fields when it is defined")
    _set_field(owner, name, value)


def _derive(module: ModuleType, tree: ast.Module, changed: set[str]) -> None:
    """Compute anew the constants of the module that follow from those which *changed*."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        used = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
        if isinstance(target, ast.Name) and target.id not in changed and used & changed:
            _rebind(module, target.id, _evaluated(node.value, dict(vars(module))))
            changed.add(target.id)


def _rebind(module: ModuleType, name: str, value: Any) -> None:
    """Give *name* another value, also in the modules that imported it, and as a default of functions."""
    old = getattr(module, name)
    for other in list(sys.modules.values()):
        if vars(other).get(name, _rebind) is old if isinstance(other, ModuleType) else False:
            setattr(other, name, value)
    if not isinstance(old, int | str | bool | None):
        for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
            if any(each is old for each in function.__defaults__ or ()):
                changed = (value if each is old else each for each in function.__defaults__ or ())
                function.__defaults__ = tuple(changed)


def _set_field(owner: type, name: str, value: Any) -> None:
    """Give a class another constant, or a dataclass another default."""
    init = getattr(owner, "__init__", None)
    if isinstance(init, FunctionType) and name in getattr(owner, "__dataclass_fields__", {}):
        if name in (init.__kwdefaults__ or {}):
            init.__kwdefaults__ = {**init.__kwdefaults__, name: value}
            return
        names = init.__code__.co_varnames[: init.__code__.co_argcount]
        defaults = list(init.__defaults__ or ())
        place = names.index(name) - len(names) if name in names else 0
        if not place or -place > len(defaults):
            raise Unplantable(f"{name} is not an argument with a default")
        defaults[place] = value
        init.__defaults__ = tuple(defaults)
    else:
        setattr(owner, name, value)


def _evaluated(node: Any, names: dict[str, Any]) -> Any:
    try:
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<mutant>", "eval", dont_inherit=True)
        return eval(code, names)  # noqa: S307 - an expression of this repository
    except NameError as error:
        raise Unplantable(str(error)) from error


def _at(node: Any, steps: tuple[tuple[str, int | None], ...]) -> Any:
    for name, at in steps:
        node = getattr(node, name) if at is None else getattr(node, name)[at]
    return node
