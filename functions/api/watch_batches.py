"""The route that a progress token authorizes, which has no other credential: it may only read."""

from functions import get_progress
from functions.api.routing import by_route

handler = by_route({"GET /v1/progress": get_progress.handler})
