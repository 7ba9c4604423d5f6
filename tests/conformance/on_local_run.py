"""fanin on a local run: what HTTP cannot do goes by the tables, the bus and the tracker's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Literal
from uuid import uuid4

from fanin.item_ids import ItemId
from fanin.local import LocalRun
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, BatchKey, Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PageMasks
from fanin_conformance import Answer, Delivery, NotSupported, Span
from fanin_conformance.over_http import FaninOverHttp
from tests.http.events import Events

Kind = Literal["completed", "timed_out", "cancelled", "expired", "failed"]
KINDS: dict[str, Kind] = {
    "BatchCompleted": "completed",
    "BatchTimedOut": "timed_out",
    "BatchCancelled": "cancelled",
    "BatchExpired": "expired",
    "BatchFailed": "failed",
}
SWEEP = timedelta(minutes=16)
"""After so long the sweep looks at a closed batch again."""


class OnLocalRun(FaninOverHttp):
    """Over HTTP, but for crashes, time and deliveries."""

    def __init__(
        self, run: LocalRun, bus: Events, page_bits: int = 1024, tenant: str = "000000000000"
    ) -> None:
        super().__init__(run.url)
        self.bus = bus
        self.tenant = tenant
        self.page_bits = page_bits
        tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
        self.store = DynamoStore(run.client("dynamodb"), tables)
        self.ahead = timedelta(0)

    def tracker(self, ahead: timedelta) -> Tracker:
        """Return the tracker as it will be after so long."""
        return Tracker(self.store, self.page_bits, timedelta(0), now=lambda: datetime.now(UTC) + ahead)

    def open(self, **options: object) -> str:  # type: ignore[override]  # passed on
        self.ahead = timedelta(0)
        return super().open(**options)  # type: ignore[arg-type]

    def ack(self, items: Sequence[str], token: str | None = None) -> Answer:
        """Ack over HTTP; on a clock that is ahead, through the tracker itself."""
        if not self.ahead:
            return super().ack(items, token)
        acks = [Ack.of(item, token or uuid4().hex) for item in items]
        report = self.tracker(self.ahead).ack(self.tenant, acks)
        return Answer((), tuple(each.verdict.value for each in report.results))

    def pass_time(self, seconds: float) -> None:
        """Wait for a short time; let the sweep run as it will after a long one."""
        if seconds <= 5:
            super().pass_time(seconds)
            return
        self.ahead += timedelta(seconds=seconds)
        self.tracker(self.ahead).sweep()

    def ack_and_crash(self, items: Sequence[str]) -> None:
        """Store the bits as a request does that never comes further; then sweep."""
        parsed = [ItemId.parse(item) for item in items]
        key = BatchKey(self.tenant, parsed[0].batch_id)
        masks: dict[int, int] = {}
        for item in parsed:
            page, bit = divmod(item.index, self.page_bits)
            masks[page] = masks.get(page, 0) | 1 << bit
        for page, mask in masks.items():
            far = datetime.now(UTC) + timedelta(days=1)
            self.store.add_bits(PageKey(key, 0, page), PageMasks(mask), far)
        if self.status(parsed[0].batch_id).is_complete:
            raise NotSupported("a crash before the completion: the page was more than its bits")
        self.tracker(SWEEP).sweep()

    def deliveries(self, batch: str, count: int, seconds: float) -> Sequence[Delivery]:
        """Return the events of the batch on the bus, waited for."""
        until = monotonic() + seconds * 6
        while len(self.bus.by_batch[batch]) < count and monotonic() < until:
            self.bus._receive(wait=1)
        self.bus._receive(wait=0)
        return [
            Delivery(
                KINDS[event["kind"]],
                event["eventId"],
                tuple(Span(each["groupId"], each["from"], each["to"]) for each in event.get("ranges") or ()),
            )
            for event in self.bus.by_batch[batch]
        ]


class CountedOnLocalRun(OnLocalRun):
    """Time is the number of requests: a test does not fail because the machine is slow."""

    requests = 0

    def seconds(self) -> float:
        return self.requests / 1000

    def _once(self, method: str, url: str, body: bytes | None, token: str | None) -> tuple[int, bytes, float]:
        self.requests += 1
        return super()._once(method, url, body, token)
