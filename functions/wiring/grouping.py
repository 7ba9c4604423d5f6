"""Builds the dependencies of the group-batcher's handlers, once a process and on first use."""

from __future__ import annotations

from functools import lru_cache, partial

from fanin.aws import clients
from fanin.aws.grouping import GroupingSettings
from fanin.errors import InvalidRequest
from fanin.grouper import ByTarget, Grouper, OutcomeNotifier, World
from fanin.grouper.dynamodb import DynamoStore, GrouperTables
from fanin.grouper.eventbridge import EventBus
from fanin.grouper.http import HttpDownstream
from fanin.grouper.parsing import endpoints_of, policies_of
from fanin.grouper.sqs import SqsQueue
from functions.wiring import metered


@lru_cache(maxsize=1)
def settings() -> GroupingSettings:
    """Return the settings of the environment; raise RuntimeError if one is missing."""
    try:
        return GroupingSettings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


@lru_cache(maxsize=1)
def grouper() -> Grouper:
    """Return the group-batcher over the deployed tables and queues."""
    names = settings()
    tables = GrouperTables(names.tasks_table, names.leases_table, names.bundles_table)
    store = DynamoStore(metered.dynamodb(), tables)
    queue = SqsQueue(clients.sqs.later(), names.tasks_queue, names.bundles_queue)
    return Grouper(World(store, queue, policies_of(names.policies)))


@lru_cache(maxsize=1)
def downstream() -> ByTarget:
    """Return the batch APIs by target."""
    endpoints = endpoints_of(settings().downstream)
    return ByTarget([(each.pattern, HttpDownstream(each.url, each.timeout)) for each in endpoints])


@lru_cache(maxsize=1)
def notifier() -> OutcomeNotifier:
    """Return the notifier: events on the bus for failed tasks, and acks of the tasks' items."""
    from fanin.api.task_acks import ack_items  # noqa: PLC0415  # a leader acks nothing,
    from functions.wiring import tracking  # noqa: PLC0415  # and starts without the tracker

    bus = EventBus(clients.events.later(), settings().bus)
    return OutcomeNotifier(bus.publish, partial(ack_items, tracking.transport().tracker))
