"""The report of an ack request, the same over every transport."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fanin.tracker import Verdict

ACKED = frozenset({Verdict.ACCEPTED, Verdict.DUPLICATE})


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """The verdict of one acked item."""

    item_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class RangeVerdict:
    """Counts of each verdict for the items *first* to *last* (both inclusive) of a group."""

    batch_id: str
    group_id: str
    first: int
    last: int
    counts: Mapping[Verdict, int]


@dataclass(frozen=True, slots=True)
class Completion:
    """A batch that these acks, or an earlier attempt of them, completed."""

    batch_id: str
    user_key: str | None
    result: str | None


@dataclass(frozen=True, slots=True)
class AckReport:
    """The answer of ack: the verdicts on the items, and the batches that these acks completed.

    *results*: a verdict for each item that was sent by its id, in order. *ranges*: counts of verdicts for
    each range that was sent, as ``Items`` are, 100,000 items at most in each.
    """

    results: tuple[ItemVerdict, ...] = ()
    completions: tuple[Completion, ...] = ()
    ranges: tuple[RangeVerdict, ...] = ()

    @property
    def not_acked(self) -> Mapping[Verdict, int]:
        """How many items got each verdict other than ``accepted`` and ``duplicate``."""
        counts = Counter(each.verdict for each in self.results)
        for each in self.ranges:
            counts.update(each.counts)
        return {verdict: count for verdict, count in counts.items() if verdict not in ACKED}

    def __add__(self, other: AckReport) -> AckReport:
        """Return both reports as one; a completion in both is listed once."""
        completions = tuple(dict.fromkeys(self.completions + other.completions))
        return AckReport(self.results + other.results, completions, self.ranges + other.ranges)
