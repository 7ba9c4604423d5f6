"""The edge of the routes that read: what a request has read is charged to its tenant's quota of reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from fanin.api.edge import caller, edge
from functions.wiring import metered, tracking
from functions.wiring.quotas import charge, owe

READS = "reads"


def reading_edge(
    query: Collection[str] = (), also: Mapping[str, Collection[str]] = MappingProxyType({})
) -> APIGatewayHttpResolver:
    """Return the edge of routes that read, with the arguments of ``fanin.api.edge.edge``."""
    app = edge(tracking.settings, query, also)
    app.use([_charged])
    return app


def _charged(app: Any, next_middleware: Callable[[Any], Response[Any]]) -> Response[Any]:
    """Charge one read unit before the request, and after it those that it has read beyond."""
    tenant = caller(app).tenant
    charge(tenant, READS)
    metered.meter.take("read_units")
    try:
        return next_middleware(app)
    finally:
        owe(tenant, READS, math.ceil(metered.meter.take("read_units")) - 1)
