"""Puts events of source ``fanin`` on an event bus, in requests of ten."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.errors import StoreUnavailable
from fanin.names import EVENT_SOURCE

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

EVENTS_A_REQUEST = 10
SEND_ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its detail type, and its detail, which has an ``eventId``."""

    detail_type: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bus:
    """Puts events on the bus *name*. An event may be delivered twice, with the same ``eventId``.

    *attempts*: how often events are sent that a successful response names as failed.
    """

    client: EventBridgeClient
    name: str
    pause: Callable[[float], None] = time.sleep
    attempts: int = SEND_ATTEMPTS

    def put(self, events: Sequence[Event]) -> None:
        """Put each of *events*; raise StoreUnavailable if one may be missing."""
        entries = [self._entry(event) for event in events]
        for first in range(0, len(entries), EVENTS_A_REQUEST):
            self._send(entries[first : first + EVENTS_A_REQUEST])

    def _send(self, entries: list[dict[str, Any]]) -> None:
        """Send at most ten entries, and those again that a successful response names as failed."""
        for attempt in range(self.attempts):
            answer = send(self.client.put_events, {"Entries": entries})
            pairs = zip(entries, answer["Entries"], strict=True)
            entries = [entry for entry, result in pairs if "ErrorCode" in result]
            if not entries:
                return
            if attempt + 1 < self.attempts:
                self.pause(FIRST_PAUSE_SECONDS * 2**attempt)
        raise StoreUnavailable("the event bus did not accept every event; retry later")

    def _entry(self, event: Event) -> dict[str, Any]:
        # Not escaped: ten of the largest events fit into a request of 256 KB.
        detail = json.dumps(event.detail, ensure_ascii=False)
        common = {"EventBusName": self.name, "Source": EVENT_SOURCE}
        return {**common, "DetailType": event.detail_type, "Detail": detail}
