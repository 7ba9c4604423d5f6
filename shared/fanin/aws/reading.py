"""Many rows read at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.rows import Item
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_A_READ = 100
READ_ATTEMPTS = 8


def read_many(
    client: DynamoDBClient, table: str, keys: Sequence[Item], pause: Callable[[int], None]
) -> Iterator[Item]:
    """Those of the rows that are there, in any order, read consistently; *keys* are all different.

    Raises StoreUnavailable where the table leaves some of them unread, however often it is asked.
    """
    for first in range(0, len(keys), KEYS_A_READ):
        yield from _read_some(client, table, keys[first : first + KEYS_A_READ], pause)


def _read_some(
    client: DynamoDBClient, table: str, keys: Sequence[Item], pause: Callable[[int], None]
) -> Iterator[Item]:
    """At most 100 rows; what an answer leaves unprocessed is asked for again."""
    asked: Any = {table: {"Keys": list(keys), "ConsistentRead": True}}
    for attempt in range(READ_ATTEMPTS):
        answer = send(client.batch_get_item, {"RequestItems": asked})
        yield from answer["Responses"].get(table, [])
        asked = answer.get("UnprocessedKeys")
        if not asked:
            return
        pause(attempt)
    raise StoreUnavailable("the store is busy; ask again")
