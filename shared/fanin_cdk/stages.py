"""Names that no other tracker of an account and region has: of a stage, and of what must be named."""

from __future__ import annotations

import hashlib
import re

from aws_cdk import Aws, Stack, Token
from constructs import Construct

DIGITS = 8
"""Of the digest: with 1,000 trackers in a region, two are alike with a probability of 0.0001."""
LONGEST = 20


def place_of(scope: Construct, id_: str) -> tuple[str, str]:
    """Return the name of the stack of *scope*, and the path of the construct *id_* in it.

    The name of a stack is unique in an account and region, its id in the app is not: an app may be deployed
    twice, under two names.
    """
    stack = Stack.of(scope)
    while stack.nested_stack_parent is not None:
        stack = stack.nested_stack_parent
    path = "/".join(part for part in (scope.node.path, id_) if part)
    name = stack.stack_name
    return ("", path) if Token.is_unresolved(name) else (name, path.removeprefix(f"{stack.node.path}/"))


def stage_of(stack: str, path: str) -> str:
    """Return the stage of the tracker at *path* of *stack*, with a digest: other characters may be lost."""
    place = f"{stack}/{path}"
    digest = hashlib.sha256(place.encode()).hexdigest()[:DIGITS]
    name = re.sub(r"[^a-z0-9]+", "-", place.lower()).lstrip("0123456789-")
    kept = name[: LONGEST - DIGITS - 1].strip("-")
    return f"{kept or 't'}-{digest}"


def unique_name(scope: Construct) -> str:
    """Return a name that no other construct of the account and region has: the stack's, with a digest."""
    return f"{Aws.STACK_NAME}-{scope.node.addr[-DIGITS:]}"
