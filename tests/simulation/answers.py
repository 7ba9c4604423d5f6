"""What a delivery was answered, held against what is stored: verdicts, healing, and that activity counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fanin.tracker import Batch, BatchKey, Mode, Outcome, Result, State, Verdict
from fanin.tracker.rules.lifecycle import ACTIVITY_COUNTS_AFTER, expiry, stage_of
from tests.simulating.violation import require
from tests.simulation.junk import Junk
from tests.simulation.ledger import Message

if TYPE_CHECKING:
    from tests.simulation.world import World

TRUE = {Verdict.ACCEPTED, Verdict.DUPLICATE}
TOO_LATE = {
    State.COMPLETE: Verdict.LATE,
    State.FAILED: Verdict.LATE,
    State.TIMED_OUT: Verdict.LATE,
    State.CANCELLED: Verdict.CANCELLED,
    State.EXPIRED: Verdict.EXPIRED,
}


@dataclass(frozen=True, slots=True)
class Moment:
    """What was stored when a request began."""

    at: datetime
    batches: dict[BatchKey, Batch]
    landed: dict[BatchKey, int]
    healed: dict[BatchKey, int]
    failures: dict[BatchKey, int]
    full_of_failures: set[BatchKey]
    succeeded: dict[BatchKey, int]

    @classmethod
    def of(cls, world: World, keys: Iterable[BatchKey]) -> Moment:
        stored = {key: world.memory.batches[key] for key in keys}
        referee = world.referee
        return cls(
            at=world.at,
            batches=stored,
            landed={key: referee.landed[key] for key in stored},
            healed={key: referee.healed[key] for key in stored},
            failures={key: referee.failures[key] for key in stored},
            full_of_failures={key for key, batch in stored.items() if referee.enough_failed(batch)},
            succeeded={key: referee.succeeded(batch) for key, batch in stored.items()},
        )


def check(world: World, before: Moment, parts: Sequence[Message | Junk], results: Sequence[Result]) -> None:
    """A true item is accepted or a duplicate, or too late; junk gets its verdict and no other."""
    for result, part in zip(results, parts, strict=True):
        right = sum(result.counts.values()) == result.ack.size and result.ack == part.ack
        if isinstance(part, Junk):
            right = right and result.counts == {part.verdict: part.ack.size}
        elif world.scenario.is_basic:
            right = right and TRUE.issuperset(result.counts)
        else:
            _check_lifecycle(world, before, part, Counter(result.counts))
        require(right, "I6", f"{part} was answered {result}")
    if not world.scenario.is_basic:
        for key in before.batches:
            _check_activity(world, before, key)


def _check_lifecycle(world: World, before: Moment, message: Message, counts: Counter[Verdict]) -> None:
    """Each verdict of the answer is true of what is stored."""
    batch = world.memory.batches[message.batch]
    expired = {Verdict.EXPIRED} if world.is_past(batch.expires_at) else set()
    possible = TRUE | expired | {verdict for state, verdict in TOO_LATE.items() if state is batch.state}
    require(possible.issuperset(counts), "verdicts", f"{message}, {batch.state}: {counts}")
    ended = world.referee.state_since.get(batch.key, before.at)
    if not before.batches[batch.key].is_alive and ended <= before.at - _fresh_for(world):
        fresh = counts[Verdict.ACCEPTED]
        require(not fresh, "verdicts", f"{message} was accepted by a batch that is {batch.state}")
    _check_enough(world, before, message, counts)
    if message.outcome is Outcome.SUCCESS and TRUE.issuperset(counts):
        check_successes(world, before, message.batch, counts[Verdict.ACCEPTED])
    if batch.mode is Mode.ESTIMATED:
        return
    known = (message.mask & world.referee.landed[batch.key]).bit_count()
    true = sum(counts[verdict] for verdict in TRUE)
    require(true <= known, "verdicts", f"{message}: {counts}, but only {known} have landed")
    over = batch.state is State.COMPLETE and batch.reached is None and not expired
    require(not over or not counts[Verdict.LATE], "verdicts", f"{message}: {counts}, and all items are acked")
    if Verdict.EXPIRED not in counts:
        missing = (message.mask & ~before.landed[batch.key]).bit_count()
        late = message.ack.size - true
        require(late <= missing, "verdicts", f"{message}: {counts}, only {missing} were not acked")
    if true == message.ack.size and batch.is_alive and message.outcome is Outcome.SUCCESS:
        still = message.mask & world.referee.failed[batch.key]
        require(not still, "failures", f"{message} succeeded, and {still:b} of it is still failed")


def _check_enough(world: World, before: Moment, message: Message, counts: Counter[Verdict]) -> None:
    """A failure reported to a batch that bears no more ends it."""
    key = message.batch
    full = key in before.full_of_failures and before.healed[key] == world.referee.healed[key]
    if full and message.outcome is Outcome.FAILURE and TRUE.issuperset(counts):
        ended = not world.memory.batches[key].is_alive
        require(ended, "max failures", f"{message} was {counts}, and {key} goes on")


def check_successes(world: World, before: Moment, key: BatchKey, fresh: int) -> None:
    """A success that is enough on the one page of a batch ends it."""
    batch, seen = world.memory.batches[key], before.batches[key]
    enough = world.referee.suffice(seen, before.succeeded[key] + fresh)
    ends = enough and batch.mode is Mode.EXACT and batch.total <= batch.page_bits
    require(
        not (ends and batch.is_alive), "enough", f"{key} goes on with {before.succeeded[key]} and {fresh}"
    )


def _check_activity(world: World, before: Moment, key: BatchKey) -> None:
    """An ack keeps a batch alive for an eighth of its retention less than the whole of it, at least."""
    batch, fresh, skew = world.memory.batches[key], _fresh_for(world), world.scenario.skew
    steady = batch.state is before.batches[key].state and before.batches[key].expires_at > before.at + skew
    steady = steady and world.referee.state_since.get(key, before.at - fresh) <= before.at - fresh
    if not batch.is_alive or not steady:
        return
    slack = stage_of(batch, batch.state) / ACTIVITY_COUNTS_AFTER + timedelta(milliseconds=1)
    least = expiry(batch, batch.state, before.at) - slack - 2 * skew
    require(batch.expires_at >= least, "expiry", f"{key} was acked at {before.at}, until {batch.expires_at}")


def _fresh_for(world: World) -> timedelta:
    """For how long a process may go by what it knows: longer where its clock may be set back meanwhile."""
    fresh = world.scenario.fresh_for
    return 4 * fresh if world.scenario.skew else fresh
