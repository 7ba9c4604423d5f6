"""The routes that read batches and publications, and create progress tokens."""

from functions import (
    create_progress_token,
    get_batch,
    get_children,
    get_failures,
    get_health,
    get_origin,
    get_outstanding,
    get_publication,
    get_results,
    list_batches,
)
from functions.api.routing import by_route

handler = by_route(
    {
        "GET /v1/batches": list_batches.handler,
        "GET /v1/batches/{batchId}": get_batch.handler,
        "GET /v1/batches/{batchId}/map": get_batch.handler,
        "POST /v1/batches/{batchId}/token": create_progress_token.handler,
        "GET /v1/batches/{batchId}/outstanding": get_outstanding.handler,
        "GET /v1/batches/{batchId}/failures": get_failures.handler,
        "GET /v1/batches/{batchId}/children": get_children.handler,
        "GET /v1/batches/{batchId}/origin": get_origin.handler,
        "GET /v1/batches/{batchId}/results": get_results.handler,
        "GET /v1/publications/{batchId}": get_publication.handler,
        "GET /v1/health": get_health.handler,
    }
)
