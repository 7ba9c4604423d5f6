"""A model of DynamoDB's throughput: partitions by the hash of keys, each with its limits, second by second.

What AWS documents (Amazon DynamoDB Developer Guide) and the model has:

- a partition takes 1,000 write units and 3,000 read units a second ("Best practices for partition keys");
- a new on-demand table takes 4,000 and 12,000, or its warm throughput, and then twice the peak that it had 30
  minutes before ("On-demand capacity mode", "Understanding DynamoDB warm throughput");
- adaptive capacity splits a partition that is hot for long between its keys; one key alone is not split
  ("Burst and adaptive capacity");
- an index has partitions of its own, and a write that one of them throttles is refused as a whole ("GSI
  throttling").

Burst capacity is left out, because it is not guaranteed. How soon a hot partition is split is not published:
``SPLIT_SECONDS`` is assumed. Splits of the rows of one key are left out. A refused request is sent again in
the next second; callers send no new ones while ``IN_FLIGHT`` items wait.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.scale_limits.keys import Key

PARTITION = 1_000.0
"""Write units a second of a partition, and of a key."""
NEW_TABLE = 4_000.0
PEAK_SECONDS = 1_800
SPLIT_SECONDS = 5 * 60
IN_FLIGHT = 120_000
"""Messages of a standard queue that consumers hold at a time ("Amazon SQS standard queue quotas")."""
NEGLIGIBLE = 0.01
"""Of a request: what is left of it when it is as good as taken."""
Floats = NDArray[np.float64]


class Request(NamedTuple):
    """Equal requests, so many *times*, which write *units* of each key and ack *items* in all."""

    units: Mapping[Key, float]
    times: float = 1
    items: float = 0


Load = Callable[[int], Sequence[Request]]
"""The requests of a second, counted from 0: only seconds in which callers send."""


KEY, SHARED, TABLE = "key", "partition", "table"
ALONE = 0.9
"""The share of its partition's units from which on a key is the cause by itself."""


class Blame(NamedTuple):
    """What refused a request: a *key* alone, it and others of its partition, or the whole table."""

    key: Key
    why: str


@dataclass
class Partitions:
    """The partitions of a table or an index, as upper bounds of hashes. *splits*: adaptive capacity."""

    warm: float = NEW_TABLE
    splits: bool = False
    bounds: Floats = field(init=False)
    peaks: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bounds = _even(self.warm)
        self._hot: Counter[float] = Counter()
        self.asked: Floats = np.zeros(len(self.bounds))

    @property
    def limit(self) -> float:
        """The write units that the whole place takes in this second."""
        before = self.peaks[: max(0, len(self.peaks) - PEAK_SECONDS)]
        return max(self.warm, 2 * max(before, default=0.0))

    def of(self, hashes: Floats) -> NDArray[np.int64]:
        """Return the partition of each hash."""
        return np.asarray(np.searchsorted(self.bounds, hashes, side="right"), np.int64)

    def admitted(self, partitions: NDArray[np.int64], units: Floats) -> tuple[Floats, float]:
        """Return the share of their units that partitions take, and that the place as a whole takes."""
        asked = np.asarray(np.bincount(partitions, units, minlength=len(self.bounds)), np.float64)
        self.asked = asked
        shares = np.minimum(1.0, PARTITION / np.maximum(asked, 1e-9))
        whole = min(1.0, self.limit / max(float((asked * shares).sum()), 1e-9))
        return shares, whole

    def end(self, hashes: Floats, units: Floats, taken: float) -> None:
        """End a second, in which *units* were asked of the keys with *hashes* and *taken* were taken."""
        self.peaks.append(taken)
        if self.limit > PARTITION * len(self.bounds):
            self.bounds = np.union1d(self.bounds, _even(self.limit))
        if self.splits:
            self._split(hashes, units)

    def _split(self, hashes: Floats, units: Floats) -> None:
        """Split each partition that was asked for too much in each of the last seconds, between its keys."""
        partitions = self.of(hashes)
        asked = np.bincount(partitions, units, minlength=len(self.bounds))
        hot = {float(self.bounds[each]): each for each in np.flatnonzero(asked > PARTITION)}
        self._hot = Counter({bound: self._hot[bound] + 1 for bound in hot})
        for bound, number in hot.items():
            keys = np.unique(hashes[partitions == number])
            if self._hot[bound] >= SPLIT_SECONDS and len(keys) > 1:
                middle = len(keys) // 2
                self.bounds = np.union1d(self.bounds, [(keys[middle - 1] + keys[middle]) / 2])
                del self._hot[bound]


@dataclass
class Outcome:
    """What came of a run. *rates*: items that were acked in each second; *waiting*: requests at the end."""

    rates: list[float] = field(default_factory=list)
    blames: dict[Blame, float] = field(default_factory=dict)
    waiting: list[Request] = field(default_factory=list)

    @property
    def backlog(self) -> float:
        """The most seconds that the requests which wait take one key."""
        units: dict[Key, float] = {}
        for request in self.waiting:
            for key, each in request.units.items():
                units[key] = units.get(key, 0) + each * request.times
        return max(units.values(), default=0) / PARTITION

    @property
    def first(self) -> Blame | None:
        """What refused most."""
        return max(self.blames, key=self.blames.__getitem__) if self.blames else None

    def note(self, blames: Mapping[Blame, float]) -> None:
        """Add the units that were refused in a second."""
        for blame, units in blames.items():
            self.blames[blame] = self.blames.get(blame, 0) + units


@dataclass
class Tables:
    """The places by name; *new* makes one that is met first. *in_flight*: items that wait at most."""

    new: Callable[[str], Partitions] = lambda _: Partitions()
    places: dict[str, Partitions] = field(default_factory=dict)
    in_flight: float = IN_FLIGHT

    def run(self, load: Load, seconds: int) -> Outcome:
        """Send *load* for so many seconds."""
        outcome, sent = Outcome(), 0
        for _ in range(seconds):
            fresh: Sequence[Request] = ()
            if sum(each.items for each in outcome.waiting) < self.in_flight:
                fresh, sent = load(sent), sent + 1
            requests = [*outcome.waiting, *fresh]
            shares = self._second(requests, outcome)
            outcome.rates.append(float(sum(r.items * s for r, s in zip(requests, shares, strict=True))))
            throttled = (_throttled(r, s) for r, s in zip(requests, shares, strict=True) if s < 1)
            outcome.waiting = [each for each in throttled if each.times > NEGLIGIBLE]
        return outcome

    def _second(self, requests: Sequence[Request], outcome: Outcome) -> Floats:
        """Return the share of each request that is taken."""
        taken = np.ones(len(requests))
        touched = _touches(requests)
        limits = {name: self._limited(name, touches) for name, touches in touched.items()}
        for name, (shares, _) in limits.items():
            np.minimum.at(taken, touched[name].numbers, shares)
        for name, touches in touched.items():
            place, share = self.places[name], taken[touches.numbers]
            outcome.note(_blames(place, touches, limits[name], share))
            place.end(touches.hashes, touches.units, float((touches.units * share).sum()))
        return taken

    def _limited(self, name: str, touches: Touches) -> tuple[Floats, float]:
        if name not in self.places:
            self.places[name] = self.new(name)
        place = self.places[name]
        partitions = place.of(touches.hashes)
        shares, whole = place.admitted(partitions, touches.units)
        return shares[partitions] * whole, whole


@dataclass
class Touches:
    """What requests write in one place, as columns: number of the request, key, its hash, units."""

    numbers: list[int] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    units: Floats = field(default_factory=lambda: np.zeros(0))
    hashes: Floats = field(default_factory=lambda: np.zeros(0))
    of_key: dict[Key, float] = field(default_factory=dict)


def _blames(
    place: Partitions, touches: Touches, limited: tuple[Floats, float], taken: Floats
) -> dict[Blame, float]:
    """Return the units that *place* refused, where it is what limits the requests."""
    shares, whole = limited
    asked = place.asked[place.of(touches.hashes)]
    found: dict[Blame, float] = {}
    for number in np.flatnonzero((shares < 1 - 1e-6) & (shares <= taken + 1e-9)):
        key, units = touches.keys[number], float(touches.units[number])
        alone = touches.of_key[key] >= ALONE * asked[number]
        why = TABLE if whole < 1 else KEY if alone else SHARED
        blame = Blame(key, why)
        found[blame] = found.get(blame, 0) + units * (1 - float(shares[number]))
    return found


def _touches(requests: Sequence[Request]) -> dict[str, Touches]:
    found: dict[str, tuple[Touches, list[float]]] = {}
    for number, request in enumerate(requests):
        for key, units in request.units.items():
            touches, column = found.setdefault(key.place, (Touches(), []))
            touches.numbers.append(number)
            touches.keys.append(key)
            touches.of_key[key] = touches.of_key.get(key, 0) + units * request.times
            column.append(units * request.times)
    for touches, column in found.values():
        touches.units = np.array(column)
        touches.hashes = np.array([position(key.value) for key in touches.keys])
    return {name: touches for name, (touches, _) in found.items()}


@lru_cache(maxsize=2_000_000)
def position(value: str) -> float:
    """Return the hash of a partition key, from 0 to 1."""
    return int.from_bytes(hashlib.md5(value.encode()).digest()[:8], "big") / 2**64  # noqa: S324


def _throttled(request: Request, share: float) -> Request:
    share_left = 1 - share
    return Request(request.units, request.times * share_left, request.items * share_left)


def _even(units: float) -> Floats:
    """Return the bounds of equal partitions for so many write units a second."""
    count = int(np.ceil(units / PARTITION))
    return np.arange(1, count + 1) / count
