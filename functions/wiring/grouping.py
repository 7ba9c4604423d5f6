"""What the group-batcher's handlers are made of, built once a process and when first needed."""

from __future__ import annotations

from functools import lru_cache, partial

from fanin.api.task_acks import ack_task_items
from fanin.aws import clients
from fanin.aws.grouping import GroupingSettings
from fanin.errors import InvalidRequest
from fanin.grouper import ByTarget, Grouper, Notices, World
from fanin.grouper.dynamodb import DynamoStore, GrouperTables
from fanin.grouper.eventbridge import EventBus
from fanin.grouper.http import HttpDownstream
from fanin.grouper.parsing import endpoints_of, policies_of
from fanin.grouper.sqs import SqsQueue
from functions.wiring import tracking


@lru_cache(maxsize=1)
def settings() -> GroupingSettings:
    """The environment, read once; what is missing there is a fault of the deployment, not of a caller."""
    try:
        return GroupingSettings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


@lru_cache(maxsize=1)
def grouper() -> Grouper:
    """The group-batcher over the deployed tables and queues."""
    told = settings()
    tables = GrouperTables(told.tasks_table, told.leases_table, told.bundles_table)
    store = DynamoStore(tracking.dynamodb(), tables)
    queue = SqsQueue(clients.sqs(), told.tasks_queue, told.bundles_queue)
    return Grouper(World(store, queue, policies_of(told.policies)))


@lru_cache(maxsize=1)
def downstream() -> ByTarget:
    """The batch APIs, by target."""
    endpoints = endpoints_of(settings().downstream)
    return ByTarget([(each.pattern, HttpDownstream(each.url, each.timeout)) for each in endpoints])


@lru_cache(maxsize=1)
def notices() -> Notices:
    """Events on the bus for failed tasks, and acks of the items that tasks were for."""
    bus = EventBus(clients.events(), settings().bus)
    return Notices(bus.publish, partial(ack_task_items, tracking.transport().tracker))
