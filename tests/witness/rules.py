"""``python -m tests.witness.rules [URL]``: which requests an engine answers otherwise than the rules of AWS.

The requests are those of tests/request_rules: at a limit, beyond it, wrong, right. A line is one that the
rules and the engine (dynalite, if no URL is given) do not both take or both refuse. ``make witness`` fails by
those of dynalite that ``KNOWN`` does not have.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from fanin.local.dynamodb_engine.engine import Engine, EngineLost, EngineRefusal
from fanin.local.dynamodb_engine.forwarding import ITEMS
from fanin.local.dynamodb_engine.tables import EngineTables
from tests.contract import dynalite
from tests.request_rules.limits import LIMITS
from tests.request_rules.requests import TABLE
from tests.request_rules.wrong import PASSES, REFUSED

UNKNOWN = "UnknownOperationException"
NOT_SO = "ConditionalCheckFailedException"
"""The answer to a condition that was taken."""
OF_WHAT_IS_STORED = (
    "TransactionCanceledException",
    "ResourceNotFoundException",
    "The document path provided in the update expression is invalid for update",
    "An operand in the update expression has an incorrect data type",
    "The provided expression refers to an attribute that does not exist in the item",
    "Item size to update has exceeded the maximum allowed size",
)
"""Errors that say nothing of the rules."""
KNOWN = frozenset(
    {
        # developerguide/Constraints.html: expression parameters, keys, items
        "bytes of an expression: 4,097",
        "operators of a condition: 301",
        "operands of IN: 101",
        "bytes of a placeholder: 256",
        "bytes of all placeholders and values: 2,097,153",
        "bytes of a key in UTF-8: 1,026",  # it counts characters
        "bytes of an index's sort key: 1,025",
        "bytes of an index's key in an update: 1,025",
        "bytes of a key that is queried: 2,049",
        "an empty key of an index",
        "a query by an empty key",
        "bytes of an attribute's name: 65,536",
        "an attribute without a name",
        "bytes of an item with its entry in a local index: 409,601",  # it counts the item alone
        "levels of an attribute: 33",
        # APIReference/API_Scan.html and API_Query.html
        "segments of a scan: 1,000,001",
        "a segment without their number",
        "a projection that the index does not have",
        # developerguide/Expressions.OperatorsAndFunctions.html
        "less than a truth",
        "a truth that is less",
        "between truths",
        "at least nothing",
        "greater than a set",
        "at most a list",
        # undecided without an account: it refuses `size`, which is in the list of reserved names
        "names that the parser takes, though they are listed",
    }
)
"""What dynalite answers otherwise, by the page of AWS that it contradicts."""


def requests() -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    """Yield what each request is, its operation, the request, and whether AWS takes it."""
    for what, limit in LIMITS.items():
        for count in (limit.most - limit.step, limit.most, limit.most + limit.step):
            place = f"{what}: {count:,}"
            yield place, limit.operation, limit.request(count), count != limit.most + limit.step
    for what, (operation, wrong, *_) in REFUSED.items():
        yield what, operation, wrong, False
    for what, (operation, right, *_) in PASSES.items():
        yield what, operation, right, True


def differences(engine: Engine) -> Iterator[tuple[str, str]]:
    """Yield what a request is that *engine* takes and the rules refuse, or the reverse, and how it is."""
    EngineTables(engine, lambda _: None).create("Things", {**TABLE, "BillingMode": "PAY_PER_REQUEST"})
    for what, operation, request, is_right in requests():
        refusal = _refusal(engine, operation, request) if operation in ITEMS else UNKNOWN
        is_of_rules = not any(each in refusal for each in (UNKNOWN, *OF_WHAT_IS_STORED))
        if is_of_rules and bool(refusal) is is_right:
            yield what, f"{operation} is {f'refused: {refusal}' if refusal else 'taken'}"


def _refusal(engine: Engine, operation: str, request: dict[str, Any]) -> str:
    """Return the code and text of the engine's refusal, or nothing."""
    try:
        engine.ask(operation, _sent(request))
    except EngineRefusal as error:
        return "" if error.code == NOT_SO else str(error)
    except EngineLost as error:
        return f"no answer: {error}"
    return ""


def _sent(value: Any) -> Any:
    """Return *value* as it is sent: bytes in base64."""
    if isinstance(value, dict):
        return {name: _sent(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_sent(each) for each in value]
    return b64encode(value).decode() if isinstance(value, bytes | bytearray) else value


def of_dynalite() -> tuple[list[str], list[str]]:
    """Return the differences of dynalite that are not known, as lines, and what is known and is none."""
    with dynalite.started() as url:
        found = dict(differences(Engine(url)))
    new = [f"{what}: {how}" for what, how in found.items() if what not in KNOWN]
    return new, sorted(KNOWN - found.keys())


def main(url: str | None = None) -> int:
    """Print the differences of the engine at *url*, or of dynalite; return 1 if those are not as known."""
    if url:
        print(*(f"{what}: {how}" for what, how in differences(Engine(url))), sep="\n")
        return 0
    new, gone = of_dynalite()
    print(*(f"dynalite differs from the rules of AWS: {each}" for each in new), sep="\n")
    print(*(f"dynalite no longer differs from the rules of AWS: {each}" for each in gone), sep="\n")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
