"""Counts completion events and their deliveries. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Arrival:
    """The first delivery of an event; *at* is an aware time."""

    detail: Mapping[str, Any]
    at: datetime

    @property
    def completed_at(self) -> datetime:
        """Return when the last ack completed the batch, by the event."""
        return datetime.fromisoformat(self.detail["completedAt"])

    @property
    def delay(self) -> float:
        """Return the seconds from the last ack to the event."""
        return (self.at - self.completed_at).total_seconds()


@dataclass(slots=True)
class Book:
    """The events of all batches by eventId, with the number of deliveries."""

    arrivals: dict[str, Arrival] = field(default_factory=dict)
    deliveries: Counter[str] = field(default_factory=Counter)

    def note(self, body: str, at: datetime) -> None:
        """Record the EventBridge event in *body*, received *at* a time."""
        detail = json.loads(body)["detail"]
        self.arrivals.setdefault(detail["eventId"], Arrival(detail, at))
        self.deliveries[detail["eventId"]] += 1

    def of(self, batch_id: str) -> list[Arrival]:
        """Return the distinct events of a batch, in the order received."""
        return [arrival for arrival in self.arrivals.values() if arrival.detail["batchId"] == batch_id]

    def redeliveries(self, batch_id: str) -> int:
        """Return the number of repeated deliveries."""
        return sum(self.deliveries[arrival.detail["eventId"]] - 1 for arrival in self.of(batch_id))
