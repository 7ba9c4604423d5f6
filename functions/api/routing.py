"""The router of a function that serves several routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from functions.invocation_metrics.measuring import metrics
from functions.wiring import metered

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def by_route(handlers: Mapping[str, Handler]) -> Handler:
    """Return the handler that calls that of the request's route, each ``METHOD /path`` of docs/openapi.json.

    The metrics of a request have its route; what it writes is not counted as that of the next one.
    """

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        route = event["routeKey"]
        metrics.properties = {"route": route}
        metered.meter.take("write_units")
        metered.meter.take("refused")
        return handlers[route](event, context)

    return handler
