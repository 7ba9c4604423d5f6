"""The handlers of ``functions/`` by name, with all that each may do to the tracker's tables."""

from __future__ import annotations

from dataclasses import dataclass

READ = ("dynamodb:GetItem",)
CREATE = ("dynamodb:GetItem", "dynamodb:PutItem")
CHANGE = ("dynamodb:GetItem", "dynamodb:UpdateItem")
# A transaction asks for the actions of its parts: the receipt and the group are put, the batch is updated.
TRANSACT = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
# Pages are read many at once, even where it is one.
READ_PAGES = ("dynamodb:BatchGetItem",)
CHANGE_PAGES = ("dynamodb:BatchGetItem", "dynamodb:UpdateItem")
WRITE_INDEX = ("dynamodb:BatchWriteItem", "dynamodb:UpdateItem")


@dataclass(frozen=True, kw_only=True, slots=True)
class Handler:
    """One Lambda: ``functions.<name>.handler``.

    ``route``: ``METHOD /path`` when the API calls it, else empty.
    ``batches``, ``pages``: the DynamoDB actions it is granted on each table, and no others.
    """

    name: str
    route: str = ""
    batches: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    timeout_seconds: int = 10
    memory_mb: int = 512


ROUTES = (
    Handler(name="open_batch", route="POST /v1/batches", batches=CREATE),
    Handler(name="get_batch", route="GET /v1/batches/{batchId}", batches=READ, pages=READ_PAGES),
    Handler(name="add_items", route="POST /v1/batches/{batchId}/items", batches=TRANSACT),
    Handler(name="close_batch", route="POST /v1/batches/{batchId}/close", batches=CHANGE, pages=CHANGE_PAGES),
    Handler(name="ack_items", route="POST /v1/acks", batches=CHANGE, pages=CHANGE_PAGES),
)
CONSUME_ACKS = Handler(name="consume_acks", batches=CHANGE, pages=CHANGE_PAGES, timeout_seconds=30)
DESCRIBE_EVENT = Handler(name="describe_event")
DEMO_WORKER = Handler(name="demo_worker", batches=CHANGE, pages=CHANGE_PAGES)
