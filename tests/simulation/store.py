"""The store as an actor sees it: over a network that loses, repeats and delays, by the run's choices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from fanin.tracker.rules.children import Children
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import Batch, BatchKey, Group, ItemKey, PageKey, Receipt, Sample
from fanin.tracker.rules.page import Page
from fanin.tracker.store import Listing
from tests.simulating.faults import Fault
from tests.simulating.network import Network, Request
from tests.simulation.choices import Choices
from tests.simulation.loop import Loop
from tests.simulation.possible import POSSIBLE
from tests.simulation.referee import NOTHING, Referee
from tests.simulation.replica import Replica
from tests.simulation.trace import Trace
from tests.simulation.two_requests import TwoRequests


class UnreliableStore(TwoRequests, Network):
    """A TrackerStore. Other actors may go before each request, and each may fail; *stalled* lands later."""

    def __init__(
        self, referee: Referee, replica: Replica, loop: Loop, choices: Choices, trace: Trace | None
    ) -> None:
        super().__init__(loop)
        self._referee, self._replica, self._trace = referee, replica, trace
        self._loop, self._choices = loop, choices

    def named(self, tenant: str, key: str) -> str | None:
        return self._send("named", tenant, key)

    def get(self, key: BatchKey) -> Batch | None:
        return self._send("get", key)

    def children(self, item: ItemKey) -> Children | None:
        return self._send("children", item)

    def children_from(self, key: BatchKey, start: int, limit: int) -> Sequence[tuple[int, Children]]:
        return self._send("children_from", key, start, limit)

    def cancel_children(self, key: BatchKey, next_check_at: datetime) -> Batch | None:
        return self._send("cancel_children", key, next_check_at)

    def end_child(self, item: ItemKey, child_id: str, failed: bool) -> Children | None:
        return self._send("end_child", item, child_id, failed)

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        return self._send("receipt", key, receipt_key)

    def groups(self, key: BatchKey, start: int, last: int, limit: int) -> Sequence[tuple[int, Group]]:
        return self._send("groups", key, start, last, limit)

    def transition(self, key: BatchKey, change: Transition) -> Batch | None:
        return self._send("transition", key, change)

    def extend(self, key: BatchKey, expires_at: datetime, next_check_at: datetime) -> Batch | None:
        return self._send("extend", key, expires_at, next_check_at)

    def postpone(self, seen: Batch, next_check_at: datetime | None) -> None:
        self._send("postpone", seen, next_check_at)

    def notice(self, batch: Batch, at: datetime) -> None:
        self._send("notice", batch, at)

    def announced(self, key: BatchKey) -> bool:
        return self._send("announced", key)

    def confirm(self, key: BatchKey, expires_at: datetime) -> None:
        self._send("confirm", key, expires_at)

    def is_put(self, key: BatchKey) -> bool:
        return self._send("is_put", key)

    def mark_put(self, key: BatchKey, expires_at: datetime) -> None:
        self._send("mark_put", key, expires_at)

    def prepare(self, key: PageKey, failing: bool, expires_at: datetime) -> None:
        self._send("prepare", key, failing, expires_at)

    def heal_bits(self, key: PageKey, mask: int) -> bool:
        return self._send("heal_bits", key, mask)

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        return self._send("mark_tail", key, size, root, expires_at)

    def compact(self, key: PageKey, count: int) -> None:
        self._send("compact", key, count)

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        return self._send("pages", keys, bits)

    def sample(self, key: BatchKey, slot: int, sample: Sample, expires_at: datetime) -> Sample | None:
        return self._send("sample", key, slot, sample, expires_at)

    def free_sample(self, key: BatchKey, slot: int, item_id: str) -> bool:
        return self._send("free_sample", key, slot, item_id)

    def samples(self, key: BatchKey) -> Sequence[Sample]:
        return self._send("samples", key)

    def remember(
        self, tenant: str, route: str, key: str, fingerprint: str, at: datetime, expires_at: datetime
    ) -> str:
        return self._send("remember", tenant, route, key, fingerprint, at, expires_at)

    def glance(self, keys: Collection[PageKey], bits: bool) -> Mapping[PageKey, Page]:
        return self._send("glance", keys, bits)

    def due(self, shard: int, alive: bool, at: datetime) -> Iterable[BatchKey]:
        return self._send("due", shard, alive, at)

    def live(self, shard: int) -> Iterable[BatchKey]:
        return self._send("live", shard)

    def listing(self, query: Query) -> Listing:
        return self._send("listing", query)

    def land(self, place: int) -> None:
        """A stalled copy reaches the store; nobody waits for its answer."""
        name, args = self.stalled.pop(place)
        self._apply("(a stalled copy)", name, args, "")

    def _send(self, name: str, *args: Any) -> Any:
        job = self._loop.now
        if job is None:
            return self._apply("(the harness)", name, args, "")
        self._referee.hears(getattr(job, "asked", NOTHING), name, args)
        return self.carry(Request(job.name, name, args))

    def fault(self, name: str) -> Fault | None:
        return self._choices.fault(name, POSSIBLE[name])

    def delay(self, request: Request) -> None:
        self.stalled.append((request.name, request.args))

    def fail(self, request: Request, fault: Fault) -> Any:
        if fault.copied or fault.again:
            self._referee.may_repeat(request.name, request.args)
        return super().fail(request, fault)

    def note(self, request: Request, text: str) -> None:
        if self._trace is not None:
            self._trace.request(request.sender, request.name, request.args, text, "")

    def apply(self, request: Request, note: str) -> Any:
        self._replica.pass_time()
        if self._replica.serves(request.name):
            self.note(request, "from a replica")
            return self._replica.read(request.name, request.args)
        return self._apply(request.sender, request.name, request.args, note)

    def _apply(self, actor: str, name: str, args: tuple[Any, ...], note: str) -> Any:
        if self._trace is None:
            return self._referee.apply(name, args)
        self._trace.request(actor, name, args, note, "...")
        answer = self._referee.apply(name, args)
        self._trace.answered(answer)
        return answer
