"""The handlers of ``functions/`` by name, with all that each may do to the tracker's tables."""

from __future__ import annotations

from dataclasses import dataclass

# Whoever looks at a live batch may end it, where its deadline has passed: no read goes without an update.
LOOK = ("dynamodb:GetItem", "dynamodb:UpdateItem")
LOOK_THROUGH = (*LOOK, "dynamodb:Query")
# A transaction asks for the actions of its parts: a receipt and a group are put, the batch is updated.
CHANGE = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
DESCRIBE = ("dynamodb:GetItem", "dynamodb:Query")
# Pages are read many at once, even where it is one.
READ_PAGES = ("dynamodb:BatchGetItem",)
CHANGE_PAGES = ("dynamodb:BatchGetItem", "dynamodb:UpdateItem")
WRITE_INDEX = ("dynamodb:BatchWriteItem", "dynamodb:UpdateItem")
# API Gateway waits 30 s. A shorter timeout would end a function while it retries a request to AWS, which
# takes up to 24 s: fanin/aws/limits.py.
ROUTE_SECONDS = 29


@dataclass(frozen=True, kw_only=True, slots=True)
class Handler:
    """One Lambda: ``functions.<name>.handler``.

    ``route``: ``METHOD /path`` when the API calls it, else empty.
    ``batches``, ``pages``: the DynamoDB actions it is granted on each table, and no others.
    ``indexes``: the indexes of Batches that it may query; a grant on the table does not reach them.
    """

    name: str
    route: str = ""
    batches: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    timeout_seconds: int = ROUTE_SECONDS
    memory_mb: int = 512


ROUTES = (
    Handler(name="open_batch", route="POST /v1/batches", batches=CHANGE),
    Handler(name="list_batches", route="GET /v1/batches", indexes=("byTenant", "byUser")),
    Handler(name="get_batch", route="GET /v1/batches/{batchId}", batches=LOOK, pages=READ_PAGES),
    Handler(name="add_items", route="POST /v1/batches/{batchId}/items", batches=CHANGE),
    Handler(name="close_batch", route="POST /v1/batches/{batchId}/close", batches=CHANGE, pages=CHANGE_PAGES),
    Handler(
        name="cancel_batch", route="POST /v1/batches/{batchId}/cancel", batches=CHANGE, pages=CHANGE_PAGES
    ),
    Handler(name="notify_batch", route="POST /v1/batches/{batchId}/notify", batches=CHANGE),
    Handler(
        name="get_outstanding",
        route="GET /v1/batches/{batchId}/outstanding",
        batches=LOOK_THROUGH,
        pages=READ_PAGES,
    ),
    Handler(
        name="get_failures",
        route="GET /v1/batches/{batchId}/failures",
        batches=LOOK_THROUGH,
        pages=READ_PAGES,
    ),
    # A request may touch a thousand pages, 16 at once, which takes some computing.
    Handler(name="ack_items", route="POST /v1/acks", batches=CHANGE, pages=CHANGE_PAGES, memory_mb=1024),
)
CONSUME_ACKS = Handler(name="consume_acks", batches=CHANGE, pages=CHANGE_PAGES, timeout_seconds=30)
# A dead-letter queue of a user's hides a message for 30 s unless told otherwise, and Lambda refuses to read
# a queue that hides it for less than the function may run.
FAIL_LETTERS = Handler(name="fail_letters", batches=CHANGE, pages=CHANGE_PAGES, timeout_seconds=30)
DESCRIBE_EVENT = Handler(name="describe_event", batches=DESCRIBE, pages=READ_PAGES, timeout_seconds=30)
# It acks the item of a parent batch, which a crash may have kept from being acked.
CONFIRM_EVENT = Handler(name="confirm_event", batches=CHANGE, pages=CHANGE_PAGES)
# It begins no batch after its first minute, and a batch may have many pages to repair: sweeps may overlap.
# Sixteen workers want some computing.
SWEEP = Handler(
    name="sweep",
    batches=CHANGE,
    pages=CHANGE_PAGES,
    indexes=("due", "live"),
    timeout_seconds=300,
    memory_mb=1024,
)
# A full delivery is a thousand records, 6 MB of JSON: read, packed and put.
ARCHIVE_CHANGES = Handler(name="archive_changes", timeout_seconds=60)
DEMO_WORKER = Handler(name="demo_worker", batches=CHANGE, pages=CHANGE_PAGES)
