"""Builds the tracker's objects for the handlers, once in each process and at their first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fanin.client.transports.direct_acks import DirectAcks
from fanin.pacing import each_in_threads
from fanin.tracker import Tracker, TrackerStore
from fanin.tracker.dynamodb import DynamoStore
from functions.wiring.consuming import hide, settings
from functions.wiring.deployed import settings_file
from functions.wiring.metered import dynamodb
from functions.wiring.quotas import permits_in

if TYPE_CHECKING:
    from fanin.client.transports.transport import Acks
    from fanin.item_results.service import Results

__all__ = ["acks_transport", "hide", "results", "settings", "tracker", "transport", "transport_of"]


@lru_cache(maxsize=1)
def tracker() -> Tracker:
    """Return the tracker over the deployed tables, which reads the batch again for each request."""
    tracker = Tracker(
        _store(),
        settings().page_bits,
        fresh_for=timedelta(0),
        each=each_in_threads,
        results=_results_or_none(),
    )
    permits = permits_in(tracker.store)
    return replace(tracker, admit=permits.admit) if permits else tracker


@lru_cache(maxsize=1)
def transport() -> DirectAcks:
    """Return the transport of consumers, for the function's own tenant; it caches batches for seconds."""
    tracker = Tracker(_store(), settings().page_bits, each=each_in_threads, results=_results_or_none())
    return DirectAcks(tracker, settings().tenant)


def acks_transport() -> Acks:
    """Return the transport of the acks queue, whose acks go to a log if the stack names one."""
    if not settings().acks_log:
        return transport()
    from fanin.client.ack_logs import logging_to  # noqa: PLC0415  # most stacks have no log

    return logging_to(transport(), settings().acks_log, results=False)


def transport_of(event: Mapping[str, Any]) -> DirectAcks:
    """Return the transport for the tenant of a dead-letter queue's items.

    An event source mapping reads one queue, so all messages of a delivery have the same queue.
    """
    arn: str = event["Records"][0]["eventSourceARN"]
    return replace(transport(), tenant=settings_file().dead_letter_tenants.get(arn, settings().tenant))


@lru_cache(maxsize=1)
def results() -> Results:
    """Return the results of batches in the deployed bucket. Raises InvalidRequest without one."""
    from fanin.item_results.s3 import results_in  # noqa: PLC0415  # most deployments keep no results

    if not settings().results_bucket:
        tracker().result_store()
    return results_in(settings().results_bucket)


def _results_or_none() -> Results | None:
    return results() if settings().results_bucket else None


@lru_cache(maxsize=1)
def _store() -> TrackerStore:
    store = DynamoStore(dynamodb(), settings().tables)
    return _announced(store) if settings().completions_bus else store


def _announced(store: TrackerStore) -> TrackerStore:
    """Return *store*, whose completions are put on the bus at once and counted."""
    from fanin.completion_events.announcer import announced_on  # noqa: PLC0415  # a function that completes none needs none
    from functions.invocation_metrics.counts import count_put_at_once  # noqa: PLC0415  # the same

    return announced_on(settings().completions_bus, store, count_put_at_once)
