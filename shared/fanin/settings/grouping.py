"""The group-batcher's settings in the process environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fanin.settings.tracking import needed


@dataclass(frozen=True, slots=True)
class GroupingSettings:
    """The settings of a deployed function of the group-batcher.

    ``FANIN_GROUP_TASKS_TABLE``, ``FANIN_GROUP_LEASES_TABLE``, ``FANIN_GROUP_BUNDLES_TABLE``: table names.
    ``FANIN_GROUPER_QUEUE_URL``, ``FANIN_BUNDLES_QUEUE_URL``: the queues of task messages and of bundle
    messages. ``FANIN_BUS_NAME``: the bus for the events of tasks and bundles; empty if the function
    publishes none. ``FANIN_EVENTS``: the optional events that it publishes too, separated by commas.
    Policies and batch APIs are in ``fanin.settings.settings_file``.
    """

    tasks_table: str
    leases_table: str
    bundles_table: str
    tasks_queue: str
    bundles_queue: str
    bus: str = ""
    events: frozenset[str] = frozenset()

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> GroupingSettings:
        """Read *env*, by default the process environment; raise InvalidRequest if a name is missing."""
        env = os.environ if env is None else env
        return cls(
            tasks_table=needed(env, "FANIN_GROUP_TASKS_TABLE"),
            leases_table=needed(env, "FANIN_GROUP_LEASES_TABLE"),
            bundles_table=needed(env, "FANIN_GROUP_BUNDLES_TABLE"),
            tasks_queue=needed(env, "FANIN_GROUPER_QUEUE_URL"),
            bundles_queue=needed(env, "FANIN_BUNDLES_QUEUE_URL"),
            bus=env.get("FANIN_BUS_NAME", ""),
            events=frozenset(env.get("FANIN_EVENTS", "").split(",")) - {""},
        )
