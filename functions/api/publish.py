"""The routes that start publications and read how far they are."""

from functions import get_publication, start_publication
from functions.api.routing import by_route

handler = by_route(
    {
        "POST /v1/publications": start_publication.handler,
        "GET /v1/publications/{batchId}": get_publication.handler,
    }
)
