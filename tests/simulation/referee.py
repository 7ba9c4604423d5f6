"""Carries requests out on the memory store and judges each at once, by its own account of what was acked.

Nothing here believes the tracker: what an ack may touch comes from the messages that the actors hold, what
was acked from the writes that landed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import Batch, BatchKey, PageKey, State
from fanin.tracker.page import Page
from tests.simulation.violation import Violation, require

STAGES = {State.OPEN: 0, State.CLOSED: 1, State.COMPLETE: 2}
BITS, TURN, TAIL, READ = "bits", "turn", "tail", "read"
KINDS = {
    "add_bits": BITS,
    "replace_bits": BITS,
    "create": TURN,
    "reserve": TURN,
    "close": TURN,
    "complete": TURN,
    "mark_tail": TAIL,
    "compact": TAIL,
}


class Referee:
    """*landed* has, for each batch, the items whose ack was applied, as bits of its index space."""

    def __init__(self, memory: MemoryStore) -> None:
        self.memory = memory
        self.landed: defaultdict[BatchKey, int] = defaultdict(int)
        self._judged: dict[str, Callable[..., Any]] = {BITS: self._bits, TURN: self._turn, TAIL: self._tail}

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        """Carry a request out; Violation where it does what must not be."""
        request = getattr(self.memory, name)
        judged = self._judged.get(KINDS.get(name, READ))
        return judged(request, *args) if judged else request(*args)

    def hears(self, asked: Mapping[BatchKey, int], name: str, args: tuple[Any, ...]) -> None:
        """I6: an actor writes no leaf bit but those of the items in its hands."""
        if KINDS.get(name) is not BITS or args[0].level:
            return
        placed = self._placed(args[0], args[-2])
        if placed & ~asked.get(args[0].batch, 0):
            raise Violation("I6", f"{name} of {args[0]} sets bits that no valid id names: {placed:b}")

    def _placed(self, key: PageKey, mask: int) -> int:
        return mask << key.number * self.memory.batches[key.batch].page_bits

    def _bits(self, write: Callable[..., Any], key: PageKey, *args: Any) -> Any:
        before = self.memory.stored_pages.get(key)
        written = write(key, *args)
        if not written.applied:
            require(self.memory.stored_pages.get(key) is before, "I4", f"a refused write changed {key}")
            return written
        self._check_page(key)
        mask = args[-2]
        if key.level:
            self._check_children(key, mask)
        else:
            placed = self._placed(key, mask)
            require(not placed & self.landed[key.batch], "I4", f"an ack landed twice on {key}")
            self.landed[key.batch] |= placed
        return written

    def _tail(self, write: Callable[..., Any], key: PageKey, *args: Any) -> Any:
        answer = write(key, *args)
        if key in self.memory.stored_pages:
            self._check_page(key)
        return answer

    def _turn(self, write: Callable[..., Any], subject: BatchKey | Batch, *args: Any) -> Any:
        key = subject.key if isinstance(subject, Batch) else subject
        before = self.memory.batches.get(key)
        answer = write(subject, *args)
        after = self.memory.batches.get(key)
        if after is not before and before is not None and after is not None:
            self._check_turn(before, after)
        return answer

    def _check_page(self, key: PageKey) -> None:
        """I4: the count of a page is that of its bits; I1: only a batch that is closed has last pages."""
        batch, page = self.memory.batches[key.batch], self.memory.stored_pages[key]
        size = batch.page_bits if page.size is None else page.size
        if page.compacted:
            require(page.n == size and not page.bits, "I4", f"{key} was compacted at {page}")
        else:
            require(page.n == page.bits.bit_count(), "I4", f"{key} miscounts: {page}")
            require(not page.bits >> size, "I4", f"{key} is over its size: {page}")
        if page.size is not None or page.root:
            require(batch.state is not State.OPEN, "I1", f"{key} got its size while more items may come")

    def _check_children(self, key: PageKey, mask: int) -> None:
        """I1: a bit above the leaves says of a page that it is full."""
        width = self.memory.batches[key.batch].page_bits
        for bit in range(mask.bit_length()):
            if mask >> bit & 1:
                child = PageKey(key.batch, key.level - 1, key.number * width + bit)
                page = self.memory.stored_pages.get(child, Page())
                require(page.is_full(width), "I1", f"{child} is not full, but its parent says so: {page}")

    def _check_turn(self, before: Batch, after: Batch) -> None:
        """What a batch may become: see I1, I3, I5."""
        key = after.key
        require(after.salt == before.salt, "I6", f"the secret of {key} changed")
        require(STAGES[after.state] >= STAGES[before.state], "I1", f"{key} went back to {after.state}")
        if before.state is not State.OPEN:
            require(after.total == before.total, "I5", f"{key} grew from {before.total} to {after.total}")
        if before.state is State.COMPLETE:
            require(after.completed_by == before.completed_by, "I3", f"{key} was completed twice")
        elif after.state is State.COMPLETE:
            require(before.state is State.CLOSED, "I1", f"{key} was completed while it was {before.state}")
            all_items = (1 << after.total) - 1
            require(self.landed[key] == all_items, "I1", f"{key} was completed at {self.landed[key]:b}")
