"""The bucket of results, and readers of them, who take turns at gathering and may crash anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fanin.errors import Conflict, NotFound
from fanin.item_results.gathering import Gatherer
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.objects import Listed, folder_of
from fanin.item_results.service import Results
from fanin.tracker import BatchKey
from fanin.tracker.store import TrackerStore
from tests.simulating.violation import require
from tests.simulation_seams.scenario import TENANT

if TYPE_CHECKING:
    from tests.simulation_seams.world import World

PAGE = 3
READS = 2
"""How often each batch is read when all is quiet."""
AGAIN_SECONDS = 20.0
TRIES = 10


class Bucket:
    """Carries out requests. *put_at*: when each object was written."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.memory, self.now = MemoryObjects(), now
        self.put_at: dict[str, datetime] = {}

    def apply(self, name: str, args: tuple[Any, ...]) -> Any:
        return getattr(self, name)(*args)

    def put_object(self, name: str, body: bytes) -> None:
        self.memory.put(name, body)
        self.put_at[name] = self.now()

    def put_object_first(self, name: str, body: bytes) -> bool:
        is_first = name not in self.memory.stored
        if is_first:
            self.put_object(name, body)
        return is_first

    def get_object(self, name: str) -> bytes | None:
        return self.memory.get(name)

    def list_objects(self, folder: str, after: str) -> list[Listed]:
        listed = [each for some in self.memory.names(folder) for each in some if each.name > after]
        return listed[:PAGE]

    def delete_objects(self, names: Sequence[str]) -> None:
        for name in names:
            self.memory.stored.pop(name, None)


class Objects:
    """The bucket at the other end of the network."""

    def __init__(self, send: Callable[..., Any]) -> None:
        self._send = send

    def put(self, name: str, body: bytes) -> None:
        self._send("put_object", name, body)

    def put_first(self, name: str, body: bytes) -> bool:
        return bool(self._send("put_object_first", name, body))

    def get(self, name: str) -> bytes | None:
        found: bytes | None = self._send("get_object", name)
        return found

    def names(self, folder: str) -> Iterator[list[Listed]]:
        after = ""
        while listed := self._send("list_objects", folder, after):
            yield listed
            after = listed[-1].name

    def remove(self, folder: str) -> bool:
        for listed in self.names(folder):
            self._send("delete_objects", [each.name for each in listed])
        return not self._send("list_objects", folder, "")

    def link(self, name: str, lifetime: timedelta) -> str:
        raise NotImplementedError  # no caller follows links here


class SmallResults(Results):
    """Results whose gatherers take small steps."""

    def gatherer(self, pages: TrackerStore) -> Gatherer:
        sizes = {"file_bytes": 300, "run_bytes": 600, "run_parts": 3}
        return Gatherer(self.objects, pages, self.each, self.new_id, **sizes)


class Readers:
    """Read the results of batches; *first*: what the first reader of each found."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.bucket = Bucket(world.now)
        self.first: dict[BatchKey, list[tuple[str, Any]]] = {}
        self.asked: Counter[BatchKey] = Counter()
        self.manifests: dict[tuple[BatchKey, type], object] = {}

    def results(self) -> Results | None:
        """Return the results of a new process, None in a run without."""
        if not self.world.scenario.results:
            return None
        return SmallResults(Objects(partial(self.world.network.send, self.bucket)), new_id=self.world.new_id)

    def come(self) -> None:
        """Begin to read a batch, live or ended, now and then."""
        world, random = self.world, self.world.random
        if world.scenario.results and world.memory.batches and random.random() < 0.02:
            self._start(random.choice(list(world.memory.batches)), TRIES)

    def come_at_last(self) -> bool:
        """Read each batch that can be read, while all is quiet; return whether one is left to read."""
        world = self.world
        until = world.now() + world.scenario.skew
        for batch in world.memory.batches.values() if world.scenario.results else ():
            is_read = not batch.is_alive and batch.deleted_at is None and batch.expires_at > until
            if is_read and self.asked[batch.key] < READS:
                self.asked[batch.key] += 1
                self._start(batch.key, TRIES)
                return True
        return False

    def _start(self, key: BatchKey, tries: int) -> None:
        def again() -> None:
            if tries:
                self.world.after(AGAIN_SECONDS, "reader", lambda: self._start(key, tries - 1))

        self.world.start("reader", partial(self.world.attempt, partial(self._read, key), again))

    def _read(self, key: BatchKey) -> None:
        tracker, random = self.world.tracker(), self.world.random
        results: Any = tracker.results
        with suppress(Conflict, NotFound):
            index = None
            while index is None:
                batch = tracker.get(TENANT, key.batch_id)
                index = results.gathered(batch, tracker.store, lambda: random.random() < 0.5)
            alive = self.world.memory.batches[key].is_alive
            require(not alive, "results", lambda: f"results of {key} are read, and it is live")
            self._judge(key, list(results.read(index)))
            self.judge_manifest(key, results.freeze(key))

    def judge_manifest(self, key: BatchKey, named: object) -> None:
        """R: each answer and each event of a batch names the same parts, until its results are removed."""
        batch = self.world.memory.batches[key]
        until = batch.results_until
        if (
            batch.deleted_at is None
            and until is not None
            and self.world.now() < until - self.world.scenario.skew
        ):
            first = self.manifests.setdefault((key, type(named)), named)
            require(named == first, "results", lambda: f"{key} has the manifest {named}, and had {first}")

    def _judge(self, key: BatchKey, found: list[tuple[str, Any]]) -> None:
        """R: each item that is done and returned has one result, of a run of it; the same at every read."""
        self.world.events["results read"] += 1
        outside, referee = self.world.outside, self.world.referee
        first = self.first.setdefault(key, found)
        require(found == first, "results", lambda: f"{key} has the results {found}, and had {first}")
        items = [outside.item(item_id) for item_id, _ in found]
        places = [item.position for item in items]
        require(places == sorted(set(places)), "results", lambda: f"{key} has results of {places}")
        for item, (_, value) in zip(items, found, strict=True):
            right = value in item.returned and referee.is_set(item) and not referee.is_set(item, failed=True)
            require(right, "results", lambda item=item, value=value: f"{item} has the result {value}")
        for item in outside.at[key].values():
            lost = item.kept and item.position not in places and not referee.is_set(item, failed=True)
            require(not lost, "results", lambda item=item: f"{item} has no result")

    def check(self) -> None:
        """R: of a batch that is over for long nothing is left, but what came after it was removed."""
        for batch in self.world.memory.batches.values():
            until = batch.results_until
            for name in self.bucket.memory.stored if until else ():
                late = until is None or self.bucket.put_at[name] >= until - self.world.scenario.skew
                is_kept = name.startswith(folder_of(batch.key)) and not late
                require(not is_kept, "results", lambda batch=batch, name=name: f"{name} is left of {batch}")
