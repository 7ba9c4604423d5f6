"""Builds the dependencies of the group-batcher's handlers, once a process and on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from fanin.aws import clients
from fanin.errors import InvalidRequest
from fanin.grouper import Grouper, ItemAck, OutcomeNotifier, World
from fanin.grouper.dynamodb import DynamoStore, GrouperTables
from fanin.grouper.eventbridge import EventBus
from fanin.grouper.rules.notifying import OnFailed
from fanin.grouper.settings.parsing import policies_of
from fanin.grouper.settings.targeting import TargetTemplate
from fanin.grouper.sqs import SqsQueue
from fanin.names import BUNDLE_FAILED, TASK_SUCCEEDED
from fanin.pacing import each_in_threads
from fanin.settings.grouping import GroupingSettings
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
    given = settings()
    tables = GrouperTables(given.tasks_table, given.leases_table, given.bundles_table)
    store = DynamoStore(metered.dynamodb(), tables)
    queue = SqsQueue(clients.sqs.later(), given.tasks_queue, given.bundles_queue)
    policies = policies_of(settings_file().grouper_policies)
    return Grouper(World(store, queue, policies, each=each_in_threads))


def registering() -> Grouper:
    """Return the group-batcher with the template of targets, for functions that register tasks."""
    template = settings_file().grouper_target
    return replace(grouper(), target_of=TargetTemplate.parse(template)) if template else grouper()


@lru_cache(maxsize=1)
def notifier() -> OutcomeNotifier:
    """Return the notifier: acks of the tasks' items, and events on the bus of those that failed.

    Other events are published if the settings name them.
    """
    succeeded = TASK_SUCCEEDED in settings().events
    return OutcomeNotifier(_bus().publish, _ack, succeeded=succeeded, keep_results=_keep_results)


def on_failed() -> OnFailed | None:
    """Return the function that publishes the event of a failed bundle; None without the setting."""
    return _bus().publish_bundle if BUNDLE_FAILED in settings().events else None


@lru_cache(maxsize=1)
def _bus() -> EventBus:
    return EventBus(clients.events.later(), settings().bus)


def _ack(entries: Sequence[ItemAck]) -> None:
    """Ack items; the first task that has one loads the tracker, without which a function starts faster."""
    from fanin.api.bus_events.task_acks import ack_items  # noqa: PLC0415  # see the docstring: 0.1 s
    from functions.wiring import tracking  # noqa: PLC0415  # see the docstring of _ack

    ack_items(tracking.transport().tracker, entries)


def _keep_results(entries: Sequence[ItemAck]) -> None:
    from fanin.api.bus_events.task_acks import keep_results  # noqa: PLC0415  # see _ack
    from functions.wiring import tracking  # noqa: PLC0415  # see the docstring of _ack

    keep_results(tracking.transport().tracker, entries)
