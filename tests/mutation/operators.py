"""The operators: for a node of a syntax tree, what a programmer could have written there by mistake."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.mutation.expressions import Change, always, expression_changes

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE,),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE,),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
OPTIONAL = {"strict"}
"""Keyword arguments that check the code itself."""


def _with(node: Any, **changes: Any) -> Any:
    """Return a copy of *node* with other fields."""
    copied = copy.copy(node)
    for name, value in changes.items():
        setattr(copied, name, value)
    return copied


def _without(values: list[Any], at: int) -> list[Any]:
    return [*values[:at], *values[at + 1 :]]


def _compare(node: ast.Compare) -> Iterator[Change]:
    for at, each in enumerate(node.ops):
        for other in COMPARED[type(each)]:
            yield "compare", _with(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])
    if isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        yield "negate", ast.UnaryOp(ast.Not(), node)


def _bool_op(node: ast.BoolOp) -> Iterator[Change]:
    yield "and-or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for at in range(len(node.values)):
        others = _without(node.values, at)
        yield "drop-operand", others[0] if len(others) == 1 else _with(node, values=others)


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if not (isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)):
        yield "unary", node.operand


def _bin_op(node: ast.BinOp) -> Iterator[Change]:
    if _is_text(node.left) or _is_text(node.right):
        return
    if isinstance(node.op, ast.BitOr) and (_is_display(node.left) or _is_display(node.right)):
        yield "drop-left", node.right
        yield "drop-right", node.left
        return
    yield "compute", _with(node, op=COMPUTED[type(node.op)]())
    if isinstance(node.op, ast.BitOr | ast.BitAnd):
        yield "drop-right", node.left


def _constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield "constant+1", ast.Constant(node.value + 1)
        yield "constant-1", ast.Constant(node.value - 1)
    else:
        yield from expression_changes(node)


def _call(node: ast.Call) -> Iterator[Change]:
    for at, keyword in enumerate(node.keywords):
        if keyword.arg not in OPTIONAL:
            name = f"drop-argument[{keyword.arg or '**'}]"
            yield name, _with(node, keywords=_without(node.keywords, at))
    if isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
        yield "swap-call", _with(node, func=ast.Name(SWAPPED[node.func.id], ast.Load()))


def _dict(node: ast.Dict) -> Iterator[Change]:
    for at, key in enumerate(node.keys):
        name = key.value if isinstance(key, ast.Constant) else "**" if key is None else "key"
        if name == "ConditionExpression":
            values = [*node.values[:at], always(node.values[at]), *node.values[at + 1 :]]
            yield "drop-condition", _with(node, values=values)
        else:
            fields = {"keys": _without(node.keys, at), "values": _without(node.values, at)}
            yield f"drop-entry[{name}]", _with(node, **fields)


def _display(node: ast.List | ast.Set | ast.Tuple) -> Iterator[Change]:
    if isinstance(node.ctx if not isinstance(node, ast.Set) else ast.Load(), ast.Load):
        for at in range(len(node.elts)):
            changed = _with(node, elts=_without(node.elts, at))
            empty = isinstance(node, ast.Set) and len(node.elts) == 1
            yield "drop-element", ast.Call(ast.Name("set", ast.Load()), [], []) if empty else changed


def _tuple(node: ast.Tuple) -> Iterator[Change]:
    """A tuple of names in capitals is a set of values; other tuples have a place for each element."""
    if node.elts and all(_is_member(each) for each in node.elts):
        yield from _display(node)


def _comprehension(node: ast.comprehension) -> Iterator[tuple[str, ast.AST]]:
    for at, test in enumerate(node.ifs):
        yield "drop-filter", _with(node, ifs=_without(node.ifs, at))
        if _is_worth_negating(test):
            ifs = [*node.ifs[:at], ast.UnaryOp(ast.Not(), test), *node.ifs[at + 1 :]]
            yield "negate", _with(node, ifs=ifs)


def _tested(node: Any) -> Iterator[tuple[str, ast.AST]]:
    if _is_worth_negating(node.test):
        yield "negate", _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _slice(node: ast.Slice) -> Iterator[tuple[str, ast.AST]]:
    for name in ("lower", "upper", "step"):
        if getattr(node, name) is not None:
            yield f"drop-{name}", _with(node, **{name: None})


def _return(node: ast.Return) -> Iterator[tuple[str, ast.AST]]:
    if node.value is None:
        yield "drop-return", ast.Pass()
    elif not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield "return-none", _with(node, value=ast.Constant(None))


def _deleted(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    yield f"drop-{type(node).__name__.lower()}", ast.Pass()


def _assigned(node: Any) -> Iterator[tuple[str, ast.AST]]:
    """An assignment to an attribute or an item; without one to a name, the name would not exist."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if any(isinstance(each, ast.Attribute | ast.Subscript) for target in targets for each in _flat(target)):
        yield "drop-assign", ast.Pass()


def _aug_assigned(node: ast.AugAssign) -> Iterator[tuple[str, ast.AST]]:
    yield "drop-assign", ast.Pass()
    if type(node.op) in COMPUTED and not isinstance(node.op, ast.BitOr):
        yield "compute", _with(node, op=COMPUTED[type(node.op)]())


def _jump(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    yield "jump", ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def _handler(node: ast.ExceptHandler) -> Iterator[tuple[str, ast.AST]]:
    if not (len(node.body) == 1 and isinstance(node.body[0], ast.Raise)):
        yield "reraise", _with(node, body=[ast.Raise()])
    if isinstance(node.type, ast.Tuple):
        for at in range(len(node.type.elts)):
            yield "drop-error", _with(node, type=_with(node.type, elts=_without(node.type.elts, at)))


def _flat(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _is_worth_negating(test: ast.expr) -> bool:
    """Whether no other operator negates *test*."""
    return not isinstance(test, ast.Compare | ast.UnaryOp)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_display(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict | ast.DictComp | ast.Set | ast.SetComp)


def _is_member(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return bool(name) and name.isupper()


OPERATORS: dict[type[ast.AST], Callable[[Any], Iterator[tuple[str, Any]]]] = {
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary,
    ast.BinOp: _bin_op,
    ast.Constant: _constant,
    ast.JoinedStr: expression_changes,
    ast.Call: _call,
    ast.Dict: _dict,
    ast.List: _display,
    ast.Set: _display,
    ast.Tuple: _tuple,
    ast.comprehension: _comprehension,
    ast.If: _tested,
    ast.IfExp: _tested,
    ast.While: _tested,
    ast.Slice: _slice,
    ast.Return: _return,
    ast.Raise: _deleted,
    ast.Expr: _deleted,
    ast.Delete: _deleted,
    ast.Assign: _assigned,
    ast.AnnAssign: _assigned,
    ast.AugAssign: _aug_assigned,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.ExceptHandler: _handler,
}


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each change of *node*: the name of the operator, and what stands there instead."""
    yield from OPERATORS.get(type(node), lambda _: iter(()))(node)
