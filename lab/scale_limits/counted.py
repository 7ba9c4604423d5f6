"""Runs production over the stack's tables on moto, and counts the units of each key that it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fanin.grouper import Grouper, Policies, Policy, Posting, World
from fanin.grouper.dynamodb import DynamoStore as GrouperStore
from fanin.grouper.dynamodb import GrouperTables
from fanin.queue import Effects, MemoryDoorbell, Options, Queue, QueueContext
from fanin.queue.dynamodb import DynamoStore as QueueStore
from fanin.queue.rules.keys import QueueKey
from fanin.settings.tracking import Tables
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore as TrackerStore
from lab.scale_limits.keys import KeyMeter

TENANT = "111122223333"


@dataclass
class Site:
    """Production over tables whose names are by *places*: batches, pages, tasks, leases, bundles, jobs."""

    client: Any
    meter: KeyMeter
    names: Mapping[str, str]
    time: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    posted: list[Posting] = field(default_factory=list)

    @classmethod
    def over(cls, client: Any, uncounted: Any, names: Mapping[str, str]) -> Site:
        """Return a site that counts the requests of *client*; *uncounted* is another client of its tables."""
        meter = KeyMeter(uncounted, places={name: place for place, name in names.items()})
        meter.attach(client)
        return cls(client, meter, names)

    def now(self) -> datetime:
        """Return the time of the site, which stands still."""
        return self.time

    def tracker(self, **options: Any) -> Tracker:
        """Return a tracker."""
        tables = Tables(self.names["batches"], self.names["pages"])
        return Tracker(TrackerStore(self.client, tables), **options)

    def send(self, postings: Sequence[Posting]) -> None:
        """Take the messages of the group-batcher."""
        self.posted += postings

    def grouper(self, policy: Policy) -> Grouper:
        """Return a group-batcher, whose messages ``posted`` has."""
        tables = GrouperTables(*(self.names[each] for each in ("tasks", "leases", "bundles")))
        store = GrouperStore(self.client, tables)
        return Grouper(World(store, self, Policies((("*", policy),)), now=self.now))

    def queue(self, parts: int) -> Queue:
        """Return a work queue."""
        context = QueueContext(
            QueueStore(self.client, self.names["jobs"]),
            MemoryDoorbell(),
            QueueKey(TENANT, "thumbnails"),
            Options(parts=parts),
            Effects(each=lambda call, values: [call(value) for value in values]),
            report=lambda _: None,
        )
        return Queue(context, lambda _: lambda: None)
