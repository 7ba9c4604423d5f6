"""Q6: a process claims the heads that it has read by priority, then by time, over all parts together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from fanin.queue.memory import MemoryStore
from fanin.queue.rules.model import Entry, JobState
from tests.simulating.network import Request
from tests.simulating.violation import require


@dataclass
class Heads:
    """What a process read since its last claims: *parts*, each with its heads. *tried*: those it claimed."""

    parts: dict[object, Sequence[Entry]] = field(default_factory=dict)
    tried: set[int] = field(default_factory=set)

    def all(self) -> list[Entry]:
        return [entry for entries in self.parts.values() for entry in entries]


@dataclass
class ClaimOrder:
    """Follows the reads and claims of each process, by name."""

    heads: dict[str, Heads] = field(default_factory=lambda: defaultdict(Heads))

    def sent(self, request: Request) -> None:
        """Judge a claim: no head that comes before is left out, unless another process holds it by now."""
        if request.name == "enter":
            self.heads.pop(request.sender, None)
        if request.name != "claim":
            return
        heads, wanted = self.heads[request.sender], request.args[0]
        known = heads.all()
        if not any(entry is wanted for entry in known):
            return  # a job that the process has freed itself
        skipped = [entry for entry in known if entry.ix < wanted.ix and id(entry) not in heads.tried]
        require(not skipped, "Q6", lambda: f"{request.sender} claims {wanted} before {skipped}")
        heads.tried.add(id(wanted))

    def failed(self, request: Request) -> None:
        """Forget the heads of a round that is not finished."""
        if request.name == "ready":
            self.heads.pop(request.sender, None)

    def answered(self, request: Request, answer: Sequence[Entry]) -> None:
        """Note the heads of a part."""
        if request.name == "ready":
            if self.heads[request.sender].tried:
                self.heads[request.sender] = Heads()
            self.heads[request.sender].parts[request.args[0]] = answer


def check_heads(store: MemoryStore, request: tuple[object, int], answer: Sequence[Entry]) -> None:
    """Q6: the heads of a part are its first ready jobs, by priority, then by the time of their add."""
    part, limit = request
    ready = [job for job in store.stored.values() if job.key.part == part and job.state is JobState.READY]
    ready.sort(key=lambda job: (-job.priority, job.added_us))
    wanted = [(job.priority, job.added_us) for job in ready[:limit]]
    shown = [(store.stored[entry.key].priority, store.stored[entry.key].added_us) for entry in answer]
    require(shown == wanted, "Q6", lambda: f"the heads of {part} are {shown}, not {wanted}")
