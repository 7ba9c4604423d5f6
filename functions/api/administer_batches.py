"""The routes that force the end of a batch, and delete batches."""

from functions import delete_batch, delete_batches, end_batch
from functions.api.routing import by_route

handler = by_route(
    {
        "POST /v1/batches/{batchId}/end": end_batch.handler,
        "DELETE /v1/batches/{batchId}": delete_batch.handler,
        "DELETE /v1/batches": delete_batches.handler,
    }
)
