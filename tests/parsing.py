"""Makes ``ast.parse`` whole on a CPython that counts the depth of all its threads in one place.

Before 3.11.8, a collection of garbage in the midst of a parse can switch to a thread that parses too: one
that prints a traceback, for instance. The first parse then ends with a SystemError, though its source is
right: https://github.com/python/cpython/issues/106905.
"""

from __future__ import annotations

import ast
from functools import wraps

MOST_PARSES = 10
"""Parses of one source: each fails for a thread of its own, so a second one is rarely needed."""

_parse = ast.parse


@wraps(_parse)
def parse(*args: object, **kwargs: object) -> ast.AST:
    """Parse as ``ast.parse`` does, and again where another thread's parse was counted."""
    for _ in range(MOST_PARSES - 1):
        try:
            return _parse(*args, **kwargs)
        except SystemError as error:
            if "recursion depth mismatch" not in str(error):
                raise
    return _parse(*args, **kwargs)


def install() -> None:
    """Have everything in this process parse so: tests, tracebacks, and the rewriting of assertions."""
    ast.parse = parse
