"""Which completion events came, and how often each. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event as it came first; *at* is an aware time."""

    detail: Mapping[str, Any]
    at: datetime

    @property
    def completed_at(self) -> datetime:
        """When the last ack completed the batch, as the event says."""
        return datetime.fromisoformat(self.detail["completedAt"])

    @property
    def delay(self) -> float:
        """Seconds from the last ack to the event."""
        return (self.at - self.completed_at).total_seconds()


@dataclass(slots=True)
class Book:
    """The events of all batches: one a distinct eventId, and how often it was delivered."""

    arrivals: dict[str, Arrival] = field(default_factory=dict)
    deliveries: Counter[str] = field(default_factory=Counter)

    def note(self, body: str, at: datetime) -> None:
        """Enter the EventBridge event in *body*, which came *at* some time."""
        detail = json.loads(body)["detail"]
        self.arrivals.setdefault(detail["eventId"], Arrival(detail, at))
        self.deliveries[detail["eventId"]] += 1

    def of(self, batch_id: str) -> list[Arrival]:
        """The distinct events of a batch, in the order in which they came."""
        return [arrival for arrival in self.arrivals.values() if arrival.detail["batchId"] == batch_id]

    def redeliveries(self, batch_id: str) -> int:
        """Deliveries of the same events beyond the first of each."""
        return sum(self.deliveries[arrival.detail["eventId"]] - 1 for arrival in self.of(batch_id))
