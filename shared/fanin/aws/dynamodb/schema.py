"""The schema version of rows: rows of a newer version are neither read nor written.

A row without the attribute has version 1. Each release reads all versions since then, and
writes no version that the release before it could not read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from fanin.aws.dynamodb.rows import Item, number
from fanin.errors import NewerSchema
from fanin.user_functions import log_failure

T = TypeVar("T")
logger = logging.getLogger("fanin")

VERSION = "schemaVersion"
READABLE = f"(attribute_not_exists({VERSION}) OR {VERSION} <= :{VERSION})"
"""The condition that the row is of a version that this process reads; also where there is no row."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The rows of one table, which this release reads up to version *newest*."""

    newest: int = 1

    def checked(self, kind: str, row: Item) -> Item:
        """Return *row*, the row of a *kind*; raise NewerSchema if its version is above the newest."""
        found = int(row[VERSION]["N"]) if VERSION in row else 1
        if found > self.newest:
            raise NewerSchema(
                f"the {kind} {_key(row)} has schema version {found}, and this process reads versions up to"
                f" {self.newest}: upgrade fanin in this process"
            )
        return row

    def guarded(self, request: Item) -> Item:
        """Return the conditional *request* with the condition that the row is of a readable version."""
        values = request.get("ExpressionAttributeValues", {}) | {f":{VERSION}": number(self.newest)}
        condition = f"({request['ConditionExpression']}) AND {READABLE}"
        return request | {"ConditionExpression": condition, "ExpressionAttributeValues": values}


def readable(parse: Callable[[Item], T], rows: Iterable[Item]) -> list[T]:
    """Return the *rows* that *parse* reads; the others are logged and left out, so that a sweep goes on."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(parse(row))
        except Exception as error:  # a malformed row raises any of KeyError, ValueError and TypeError
            log_failure(logger, "the row %s cannot be read and is left out", _key(row), error=error)
    return found


def _key(row: Item) -> str:
    """Return the key of *row* for a message; the tables' keys are texts."""
    return " ".join(row[name]["S"] for name in ("pk", "sk", "lane") if "S" in row.get(name, {}))
