"""Finds the rules of a request by its operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin.local.request_rules import dynamodb, events, sqs
from fanin.local.request_rules.table_keys import Tables


def check(operation: str, request: Mapping[str, Any], tables: Tables) -> None:
    """Raise Refused if AWS refuses *request*; operations without rules pass.

    Keys of *tables* that are known are checked; a ``CreateTable`` adds those of its table.
    """
    if operation == "CreateTable":
        tables.learn(request)
    elif operation in dynamodb.OPERATIONS:
        dynamodb.OPERATIONS[operation](request, tables)
    else:
        rule = sqs.OPERATIONS.get(operation) or events.OPERATIONS.get(operation)
        if rule:
            rule(request)
