"""The routes that open, fill, close, cancel, notify and reopen batches, start publications, and ack items."""

from functions import (
    ack_items,
    add_items,
    cancel_batch,
    close_batch,
    notify_batch,
    open_batch,
    reopen_batch,
    start_publication,
)
from functions.api.routing import by_route

handler = by_route(
    {
        "POST /v1/batches": open_batch.handler,
        "POST /v1/batches/{batchId}/items": add_items.handler,
        "POST /v1/batches/{batchId}/close": close_batch.handler,
        "POST /v1/batches/{batchId}/cancel": cancel_batch.handler,
        "POST /v1/batches/{batchId}/notify": notify_batch.handler,
        "POST /v1/batches/{batchId}/reopen": reopen_batch.handler,
        "POST /v1/publications": start_publication.handler,
        "POST /v1/acks": ack_items.handler,
    }
)
