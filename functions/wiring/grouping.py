"""Builds the dependencies of the group-batcher's handlers, once a process and on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from fanin.aws import clients
from fanin.aws.grouping import GroupingSettings
from fanin.errors import InvalidRequest
from fanin.grouper import Grouper, ItemAck, OutcomeNotifier, World
from fanin.grouper.dynamodb import DynamoStore, GrouperTables
from fanin.grouper.eventbridge import EventBus
from fanin.grouper.parsing import policies_of
from fanin.grouper.sqs import SqsQueue
from fanin.grouper.targeting import TargetTemplate
from fanin.pacing import each_in_threads
from functions.wiring import metered
from functions.wiring.deployed import settings_file


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
    policies = policies_of(settings_file().grouper_policies)
    return Grouper(World(store, queue, policies, each=each_in_threads))


def registering() -> Grouper:
    """Return the group-batcher with the template of targets, for functions that register tasks."""
    template = settings_file().grouper_target
    return replace(grouper(), target_of=TargetTemplate.parse(template)) if template else grouper()


@lru_cache(maxsize=1)
def notifier() -> OutcomeNotifier:
    """Return the notifier: events on the bus for failed tasks, and acks of the tasks' items."""
    bus = EventBus(clients.events.later(), settings().bus)
    return OutcomeNotifier(bus.publish, _ack)


def _ack(entries: Sequence[ItemAck]) -> None:
    """Ack items; the first task that has one loads the tracker, without which a function starts faster."""
    from fanin.api.task_acks import ack_items  # noqa: PLC0415
    from functions.wiring import tracking  # noqa: PLC0415

    ack_items(tracking.transport().tracker, entries)
