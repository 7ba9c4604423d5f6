"""Derives the texts of the page: what finished and when, what failed, what was slow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fanin.history_report.facts import ENDED_WELL, BatchFacts, History
from fanin.history_report.format import batches as count_batches
from fanin.history_report.format import count, moment, number, percent, seconds, state, whole_seconds

LONG_IDLE = 3600.0
"""Seconds without an ack after which a running batch is listed for attention."""
LONG_TAIL = 0.5
"""The share of the acking time spent on the last percent from which a batch is listed for attention."""
NOTES = (
    "Times of acks are those of the tables' streams: whole seconds, rounded down. A batch has its own"
    " times of opening, close and end, in milliseconds; an event's time is that of its confirmation.",
    "An item's latency is counted from its message if an ack log was given, else from the batch's close,"
    " or from its opening if acks came before that. Each chart names its basis.",
    "The last percent: what was acked after 99 % of a batch's items were; of a small batch, the last item.",
    "An ack of an item that was acked before writes nothing, so the streams do not show it: duplicates are"
    " counted from an ack log, and left out without one.",
    "Reasons of failures are a sample of at most 128 that a batch keeps, unless they come from an ack log.",
    "A task waits until its first bundle is created. A job waits while it is ready in its queue,"
    " and is in progress while a worker has it, all its deliveries together.",
)


class Tile(NamedTuple):
    """A figure of the whole history."""

    value: str
    name: str
    is_bad: bool = False


def headline(history: History) -> str:
    """Return whether all batches are complete."""
    if not history.known:
        return "Nothing happened"
    if history.completed == history.known:
        return "All complete" if history.known > 1 else "The batch is complete"
    enough = f", {number(history.enough)} ended with enough" if history.enough else ""
    return f"{number(history.completed)} of {count_batches(history.known)} complete{enough}"


def period(history: History) -> str:
    """Return the times that the archive covers."""
    if history.since is None:
        return f"The archive {history.archive} holds no change in the days that were asked for."
    return f"{moment(history.since)} to {moment(history.until)} UTC, from {history.archive}"


def verdict(history: History) -> str:
    """Return the sentence on acked, failed and outstanding items."""
    sentences = [f"{number(history.items)} items were acked", *_failures(history)]
    if history.orphans:
        sentences.append(f"{count_batches(history.orphans)} ended with items left behind")
    under_way = history.known - history.ended
    if under_way:
        sentences.append(f"{number(under_way)} {'is' if under_way == 1 else 'are'} not over")
    return "; ".join(sentences) + "."


def _failures(history: History) -> Iterator[str]:
    """Yield how many items failed, and how many of them were healed."""
    ending = " in the end" if history.healed else ""
    yield (f"{number(history.failed)} of them" if history.failed else "none") + f" failed{ending}"
    if history.healed:
        were = "was" if history.healed == 1 else "were"
        yield f"{number(history.healed)} failed at first and {were} healed later"


def tiles(history: History) -> Iterator[Tile]:
    """Yield the figures of all batches together."""
    slow = max((batch.shares.p99 for batch in history.batches if batch.shares), default=None)
    waits = [batch.reported_after for batch in history.batches if batch.reported_after is not None]
    orphaned = sum(batch.outstanding or 0 for batch in history.batches if batch.is_orphan)
    failed = percent(history.failed / history.items if history.items else 0.0)
    yield Tile(f"{number(history.ended)} / {number(history.known)}", "batches over")
    yield Tile(number(history.items), "items acked")
    yield Tile(number(history.failed), f"failed ({failed})", history.failed > 0)
    yield Tile(number(orphaned), "left behind", orphaned > 0)
    yield Tile(seconds(slow), "slowest p99 of a batch")
    yield Tile(whole_seconds(max(waits, default=None)), "longest wait for an event")
    if again := history.repeats:
        yield Tile(percent(again.rate), f"of acks came again ({number(again.duplicates)})")


def attention(batch: BatchFacts) -> Iterator[str]:
    """Yield why *batch* needs attention."""
    outstanding = f"with {count(batch.outstanding or 0, 'item')} not acked"
    if batch.is_orphan:
        yield f"{state(batch.state)} {outstanding}"
    if batch.state == "UNKNOWN":
        yield "acks of a batch whose own row is not in the archive: it was opened before these days"
    if batch.is_alive and (batch.idle or 0) > LONG_IDLE:
        yield f"not over, and nothing happened for {seconds(batch.idle)}"
    if batch.state == ENDED_WELL and batch.event_at is None:
        outcome = "complete" if batch.is_complete else "ended with enough"
        yield f"{outcome}, but its event is not confirmed yet"
    if batch.notices:
        yield f"its event had to be sent again ({count(batch.notices, 'time')})"
    if batch.state == "FAILED":
        yield f"{_early_end(batch)}, {outstanding}"
    if batch.acking and batch.tail is not None and batch.tail > max(10.0, LONG_TAIL * batch.acking):
        part = percent(batch.tail / batch.acking)
        yield f"the last percent of its items took {seconds(batch.tail)}, {part} of its time"


def _early_end(batch: BatchFacts) -> str:
    """Return why a batch FAILED: only an end that a caller forced has a reason."""
    if batch.end_reason is None:
        return f"ended by its failures: {number(batch.failed)}"
    return f"its end was forced ({batch.end_reason})"


def chip(batch: BatchFacts) -> tuple[str, str]:
    """Return the colour and the name of the state of a batch."""
    if batch.is_alive:
        return "live", "open" if batch.state == "OPEN" else "under way"
    if batch.state != ENDED_WELL:
        return "bad", state(batch.state)
    if batch.failed:
        return "live", "with failures"
    return "good", "complete" if batch.is_complete else "enough"


def numbers(batch: BatchFacts) -> dict[str, str | None]:
    """Return the counts of a batch by name; None is not shown."""
    mean = batch.seen / batch.acking if batch.acking else None
    again = batch.repeats
    return {
        "items": number(batch.total),
        "acked": number(batch.acked),
        "failed": _with_share(batch.failed, batch.failed / batch.acked if batch.acked else 0.0),
        "healed by a later success": number(batch.healed) if batch.healed else None,
        "left behind": number(batch.outstanding) if batch.outstanding else None,
        "acked, not in the archive": number(batch.unseen) if batch.unseen else None,
        "acks a second, on average": number(mean) if mean else None,
        "acked again": _with_share(again.duplicates, again.rate) if again else None,
    }


def _with_share(value: int, share: float) -> str:
    return f"{number(value)} ({percent(share)})"


def times(batch: BatchFacts) -> dict[str, str | None]:
    """Return the times of a batch by name; None is not shown."""
    return {
        "opened": moment(batch.opened_at),
        "lasted": seconds(batch.lasted),
        "first to last ack": whole_seconds(batch.acking),
        "last percent took": whole_seconds(batch.tail),
        "decided after the last ack": whole_seconds(batch.decided_after),
        "event after the end": whole_seconds(batch.reported_after),
        "event after the last ack": whole_seconds(batch.reported_after_last_ack),
        "ended because": batch.end_reason,
        "nothing happened for": seconds(batch.idle) if batch.idle is not None else None,
    }


def states(found: Iterable[tuple[str, int]]) -> str:
    """Return how many are in each state, the most frequent one first."""
    ordered = sorted(found, key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number(many)} {state(name)}" for name, many in ordered)
