"""Metrics of an invocation: collected while it runs, and written to its log when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from fanin import names
from functions.invocation_metrics import emf
from functions.wiring import metered

metrics = emf.Metrics(names.METRICS_NAMESPACE)

Handler = Callable[[Any, Any], Any]


def measured(handler: Handler) -> Handler:
    """Return *handler* with its metrics, write units and failed conditions logged when it ends."""

    @wraps(handler)
    def logged(event: Any, context: Any) -> Any:
        try:
            return handler(event, context)
        finally:
            count(
                {
                    names.WRITE_UNITS: metered.meter.take("write_units"),
                    names.CONFLICTS: metered.meter.take("refused"),
                }
            )
            metrics.flush()

    return logged


def count(amounts: Mapping[str, float]) -> None:
    """Add *amounts*, by the names of their metrics, to those of the invocation.

    Zeros are left out: CloudWatch charges for each hour in which a metric has a value, and sums are the same.
    """
    for name, amount in amounts.items():
        if amount:
            metrics.add(name, amount)


def age(name: str, seconds: float) -> None:
    """Add a duration, unless it is zero; dashboards use the maximum of a period."""
    if seconds:
        metrics.add(name, seconds, emf.SECONDS)
