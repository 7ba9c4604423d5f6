"""The handlers of ``functions/`` by name, and what each is granted on the tracker's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from fanin.names import LIVE_BATCHES_INDEX, NEXT_CHECK_INDEX, TENANT_INDEX, USER_KEY_INDEX

# A read of a live batch ends it when its deadline has passed, so every reader may update too.
LOOK = ("dynamodb:GetItem", "dynamodb:UpdateItem")
LOOK_THROUGH = (*LOOK, "dynamodb:Query")
# A delete blocks the slots of reasons, 25 in a request.
DELETE = (*LOOK, "dynamodb:BatchWriteItem")
# A transaction requires the actions of its parts: a receipt and a group are put, the batch is updated.
CHANGE = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
# A cancel with the children of a batch queries them.
CHANGE_BELOW = (*CHANGE, "dynamodb:Query")
DESCRIBE = ("dynamodb:GetItem", "dynamodb:Query")
# Pages are read by BatchGetItem, a single page too.
READ_PAGES = ("dynamodb:BatchGetItem",)
CHANGE_PAGES = ("dynamodb:BatchGetItem", "dynamodb:UpdateItem")
# API Gateway waits 30 s. A shorter timeout would end a function while it retries a request to AWS, which
# takes up to 24 s: fanin/aws/limits.py.
ROUTE_SECONDS = 29
# 0.58 and 0.29 of a vCPU: the table of docs/starts.md. The most memory that a start takes is 65 MB.
ROUTE_MB = 1024
CONSUMER_MB = 512
KEEP, FREEZE, READ, REMOVE = "keep", "freeze", "read", "remove"
"""What a function does with the bucket of results: ``grants/results.py``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Handler:
    """A Lambda function, ``functions.<name>.handler``; or a part of one that serves several routes.

    ``routes``: those of the API that it answers, each ``METHOD /path``.
    ``batches``, ``pages``: the DynamoDB actions it is granted on each table, and no others.
    ``memory_mb``: by default that of a route or of a consumer.
    ``results``: what it does with the bucket of results, where there is one: ``grants/results.py``.
    ``indexes``: the indexes of Batches that it may query; a grant on the table does not include them.
    ``loops``: whether its own messages come back to it, so that Lambda must not stop it after 16 rounds.
    """

    name: str
    routes: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    timeout_seconds: int = ROUTE_SECONDS
    memory_mb: int | None = None
    loops: bool = False

    @property
    def memory(self) -> int:
        """Return its MB of memory, to which its share of a vCPU is proportional."""
        return self.memory_mb or (ROUTE_MB if self.routes else CONSUMER_MB)


H = TypeVar("H", bound=Any)
PUBLIC_ROUTES = frozenset({"GET /v1/progress"})
"""Routes without an authorizer, whose requests are charged to no tenant."""


def joined(name: str, handlers: Sequence[H]) -> H:
    """Return the function ``functions.api.<name>``, which serves the routes of *handlers*.

    *handlers* are of one class, and it has the grants of all of them.
    """
    given = {each.name: [getattr(one, each.name) for one in handlers] for each in fields(handlers[0])}
    own = {field: _joined(name, values) for field, values in given.items()}
    return replace(handlers[0], **own | ({"name": f"api.{name}"} if "name" in own else {}))


def _joined(name: str, values: Sequence[Any]) -> Any:
    if isinstance(values[0], tuple):
        return tuple(dict.fromkeys(each for some in values for each in some))
    if isinstance(values[0], bool):
        return any(values)
    return joined(name, values) if is_dataclass(values[0]) else values[0]


def together(*apis: Mapping[str, Sequence[H]]) -> Mapping[str, Sequence[H]]:
    """Return the functions of all *apis*, each with the handlers of its name."""
    names = dict.fromkeys(name for api in apis for name in api)
    return {name: tuple(each for api in apis for each in api.get(name, ())) for name in names}


def all_of(functions: Mapping[str, Iterable[H]]) -> tuple[H, ...]:
    """Return the handlers of all *functions*."""
    return tuple(each for handlers in functions.values() for each in handlers)


# The functions of the API and their handlers. Routes with nearly the same grants are served together; what
# deletes, or forces an end, is apart from what reads and writes.
API: Mapping[str, Sequence[Handler]] = {
    "read_batches": (
        Handler(name="list_batches", routes=("GET /v1/batches",), indexes=(TENANT_INDEX, USER_KEY_INDEX)),
        Handler(
            name="get_batch",
            routes=("GET /v1/batches/{batchId}", "GET /v1/batches/{batchId}/map"),
            batches=LOOK,
            pages=READ_PAGES,
        ),
        Handler(
            name="get_outstanding",
            routes=("GET /v1/batches/{batchId}/outstanding",),
            batches=LOOK_THROUGH,
            pages=READ_PAGES,
        ),
        Handler(
            name="get_failures",
            routes=("GET /v1/batches/{batchId}/failures",),
            batches=LOOK_THROUGH,
            pages=READ_PAGES,
        ),
        Handler(name="get_children", routes=("GET /v1/batches/{batchId}/children",), batches=LOOK_THROUGH),
        Handler(
            name="get_origin",
            routes=("GET /v1/batches/{batchId}/origin",),
            batches=LOOK_THROUGH,
            pages=READ_PAGES,
        ),
        Handler(
            name="get_results",
            routes=("GET /v1/batches/{batchId}/results",),
            batches=LOOK,
            pages=READ_PAGES,
            results=(READ,),
        ),
        Handler(name="get_health", routes=("GET /v1/health",), batches=("dynamodb:GetItem",)),
    ),
    "write_batches": (
        Handler(name="open_batch", routes=("POST /v1/batches",), batches=CHANGE, pages=READ_PAGES),
        Handler(name="add_items", routes=("POST /v1/batches/{batchId}/items",), batches=CHANGE),
        Handler(
            name="close_batch",
            routes=("POST /v1/batches/{batchId}/close",),
            batches=CHANGE,
            pages=CHANGE_PAGES,
        ),
        Handler(
            name="cancel_batch",
            routes=("POST /v1/batches/{batchId}/cancel",),
            batches=CHANGE_BELOW,
            pages=CHANGE_PAGES,
        ),
        Handler(name="notify_batch", routes=("POST /v1/batches/{batchId}/notify",), batches=CHANGE),
        Handler(
            name="reopen_batch",
            routes=("POST /v1/batches/{batchId}/reopen",),
            batches=CHANGE,
            pages=CHANGE_PAGES,
        ),
        Handler(
            name="ack_items",
            routes=("POST /v1/acks",),
            batches=CHANGE,
            pages=CHANGE_PAGES,
            results=(KEEP,),
        ),
    ),
    "administer_batches": (
        Handler(
            name="end_batch", routes=("POST /v1/batches/{batchId}/end",), batches=CHANGE, pages=CHANGE_PAGES
        ),
        Handler(
            name="delete_batch",
            routes=("DELETE /v1/batches/{batchId}",),
            batches=DELETE,
            results=(REMOVE,),
        ),
        Handler(
            name="delete_batches",
            routes=("DELETE /v1/batches",),
            batches=DELETE,
            indexes=(TENANT_INDEX,),
            results=(REMOVE,),
        ),
    ),
}
TOKEN_API: Mapping[str, Sequence[Handler]] = {
    "read_batches": (
        Handler(name="create_progress_token", routes=("POST /v1/batches/{batchId}/token",), batches=LOOK),
    ),
    "watch_batches": (
        Handler(
            name="get_progress",
            routes=("GET /v1/progress",),
            batches=("dynamodb:GetItem",),
            pages=READ_PAGES,
        ),
    ),
}
"""With progress tokens. What serves the route that is public can only read, and has a function of its own."""
ROUTES = all_of(API)
TOKEN_ROUTES = all_of(TOKEN_API)
CONSUME_ACKS = Handler(
    name="consume_acks", batches=CHANGE, pages=CHANGE_PAGES, results=(KEEP,), timeout_seconds=30
)
# SQS's default visibility timeout is 30 s, and Lambda refuses an event source mapping of a queue whose
# visibility timeout is below the function's timeout.
DEAD_LETTER_HANDLER = Handler(
    name="fail_dead_letter_messages", batches=CHANGE, pages=CHANGE_PAGES, timeout_seconds=30
)
PUBLISH_ENDINGS = Handler(
    name="publish_endings", batches=DESCRIBE, pages=READ_PAGES, results=(FREEZE,), timeout_seconds=60
)
# 10^6 results that were acked one by one are 1,000 lists, each of 66 ms of CPU.
PUBLISH_ENDINGS_WITH_RESULTS = replace(PUBLISH_ENDINGS, timeout_seconds=300, memory_mb=1769)
RESUMES = "Resumes"
"""The name of the queue of ending events for whose batches a task waits."""
RESUME_TASK = Handler(
    name="resume_task", batches=("dynamodb:GetItem", "dynamodb:DeleteItem"), timeout_seconds=30
)
# It acks the parent item of a batch, in case the function that ended the batch crashed before it did.
CONFIRM_EVENT = Handler(name="confirm_event", batches=CHANGE, pages=CHANGE_PAGES)
# A sweep starts no batch after its first minute, but one batch may have many pages to repair, so sweeps may
# overlap. Its 16 threads take CPU.
SWEEP = Handler(
    name="sweep",
    batches=CHANGE_BELOW,
    pages=CHANGE_PAGES,
    indexes=(NEXT_CHECK_INDEX, LIVE_BATCHES_INDEX),
    results=(REMOVE,),
    timeout_seconds=300,
    memory_mb=1024,
)
# It posts up to ten events at once, for at most 20 s, and asks for the keys and for SQS: up to 24 s.
CALL_WEBHOOK = Handler(name="call_webhook", timeout_seconds=60)
# A full delivery is 1,000 records, 6 MB of JSON.
ARCHIVE_CHANGES = Handler(name="archive_changes", timeout_seconds=60)

PUBLICATION_API: Mapping[str, Sequence[Handler]] = {
    "read_batches": (
        Handler(name="get_publication", routes=("GET /v1/publications/{batchId}",), batches=LOOK),
    ),
    "write_batches": (
        Handler(
            name="start_publication", routes=("POST /v1/publications",), batches=CHANGE, pages=READ_PAGES
        ),
    ),
}
"""Handlers of functions that the API has anyway: none of them reads an object, or sends its rows."""
PUBLICATION_ROUTES = all_of(PUBLICATION_API)
# Its time is for some parts; half of it is reserved for the last one.
CONTINUE_PUBLICATION = Handler(
    name="continue_publication",
    batches=CHANGE,
    pages=CHANGE_PAGES,
    timeout_seconds=120,
    memory_mb=1024,
    loops=True,
)
