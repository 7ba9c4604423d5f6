"""Batch reads and writes of DynamoDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.aws.dynamodb.rows import Item
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_A_READ = 100
ROWS_A_WRITE = 25
ATTEMPTS = 8
STORED = "DuplicateItem"
BUSY = frozenset(
    {
        *("ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"),
        *("InternalServerError", "TransactionConflict"),
    }
)
"""Codes of a statement in a batch: its row is stored; it may be run again."""


def read_many(
    client: DynamoDBClient,
    table: str,
    keys: Sequence[Item],
    pause: Callable[[int], None],
    *,
    consistent: bool = True,
    only: str = "",
) -> Iterator[Item]:
    """Yield the stored rows of *keys*, which are distinct, in any order.

    *only*: a projection expression with names that are not reserved; empty for whole rows. Raises
    StoreUnavailable if keys are still unprocessed after all attempts.
    """
    for first in range(0, len(keys), KEYS_A_READ):
        some: Item = {"Keys": list(keys[first : first + KEYS_A_READ]), "ConsistentRead": consistent}
        some |= {"ProjectionExpression": only} if only else {}
        yield from _read_some(client, table, some, pause)


def _read_some(
    client: DynamoDBClient, table: str, some: Item, pause: Callable[[int], None]
) -> Iterator[Item]:
    """Yield at most 100 rows; unprocessed keys are requested again after a pause."""
    asked: Any = {table: some}
    for attempt in range(ATTEMPTS):
        answer = send(client.batch_get_item, {"RequestItems": asked})
        yield from answer["Responses"].get(table, [])
        asked = answer.get("UnprocessedKeys")
        if not asked:
            return
        pause(attempt)
    raise StoreUnavailable("the store is throttled; retry")


def insert_many(
    client: DynamoDBClient, statements: Sequence[Item], pause: Callable[[int], None]
) -> Sequence[bool]:
    """Run at most 25 statements of PartiQL that insert a row each; return of each whether it did.

    A row whose key is stored is not inserted. Each is applied or not whatever becomes of the others.
    Raises StoreUnavailable if some are still refused after all attempts, and ClientError for a malformed one.
    """
    inserted = [False] * len(statements)
    remaining = list(range(len(statements)))
    for attempt in range(ATTEMPTS):
        answer = send(client.batch_execute_statement, {"Statements": [statements[at] for at in remaining]})
        codes = dict(zip(remaining, map(_code, answer["Responses"]), strict=True))
        for at, code in codes.items():
            inserted[at] = code is None
        remaining = [at for at, code in codes.items() if code in BUSY]
        if not remaining:
            return inserted
        pause(attempt)
    raise StoreUnavailable("the store is throttled; retry")


def _code(response: Item) -> str | None:
    """Return the code of a statement that was refused, None of one that was applied."""
    error = response.get("Error")
    if error is None or error["Code"] in {STORED, *BUSY}:
        return error and str(error["Code"])
    raise ClientError({"Error": error}, "BatchExecuteStatement")


def put_many(client: DynamoDBClient, table: str, rows: Sequence[Item], pause: Callable[[int], None]) -> None:
    """Put *rows*, whatever is stored under their keys. Raises StoreUnavailable as ``read_many`` does."""
    for first in range(0, len(rows), ROWS_A_WRITE):
        unprocessed: Any = {
            table: [{"PutRequest": {"Item": row}} for row in rows[first : first + ROWS_A_WRITE]]
        }
        for attempt in range(ATTEMPTS):
            unprocessed = send(client.batch_write_item, {"RequestItems": unprocessed}).get("UnprocessedItems")
            if not unprocessed:
                break
            pause(attempt)
        else:
            raise StoreUnavailable("the store is throttled; retry")
