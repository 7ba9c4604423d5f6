"""Sends the acks of a consumer, and returns the answer to each: an ack without one goes again."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fanin.client.transports.reports import AckReport, ItemVerdict, RangeVerdict
from fanin.client.transports.transport import ITEMS_A_REQUEST, RANGED_A_REQUEST, Send, acked
from fanin.errors import FaninError, InvalidRequest, NewerSchema, StoreUnavailable
from fanin.isolating import Record
from fanin.tracker import Ack, Verdict
from fanin.user_functions import note_failure

logger = logging.getLogger("fanin")

Named = tuple[Record, Ack]
"""A record, and an ack of its item or of a range of its items."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An ack of a record, and how many of its items got each verdict; None if no answer came."""

    record: Record
    ack: Ack
    counts: Mapping[Verdict, int] | None


def answers_of(send: Send, acks: Sequence[Named]) -> list[Answered]:
    """Send *acks* and return their answers in the same order, with one request for 1,000 of them.

    More than one request gets them in the order of their items, so that neighbours share a write.
    """
    order: Sequence[int] = range(len(acks))
    if len(acks) > ITEMS_A_REQUEST:
        order = sorted(order, key=lambda at: _place(acks[at][1]))
    answers = [answer for part in _parts([acks[at] for at in order]) for answer in _sent(send, part)]
    answer_at = dict(zip(order, answers, strict=True))
    return [answer_at[at] for at in range(len(acks))]


def _place(ack: Ack) -> tuple[str, str, int]:
    return ack.batch_id, ack.group_id, ack.first


def _parts(acks: Sequence[Named]) -> Iterator[Sequence[Named]]:
    """Yield the requests of *acks*: at most 1,000 acks and 100,000 items in each."""
    part: list[Named] = []
    items = 0
    for named in acks:
        size = named[1].size
        if part and (len(part) == ITEMS_A_REQUEST or items + size > RANGED_A_REQUEST):
            yield part
            part, items = [], 0
        part.append(named)
        items += size
    if part:
        yield part


def _sent(send: Send, part: Sequence[Named]) -> list[Answered]:
    """Send one request and return its answers."""
    try:
        report = acked(send, [ack for _, ack in part], None)
    except StoreUnavailable as error:
        logger.warning(
            "the store is unavailable; %d messages return to the queue: %s", _messages(part), error
        )
    except NewerSchema as error:
        return _sent_by_batch(send, part, error)
    except InvalidRequest as error:
        if all(ack.result is None for _, ack in part):
            raise
        return _sent_by_batch(send, part, error)
    else:
        return _answered(part, report)
    return [Answered(record, ack, None) for record, ack in part]


def _sent_by_batch(send: Send, part: Sequence[Named], refusal: FaninError) -> list[Answered]:
    """Send the acks of each batch alone; those of the batch that is refused have no answer.

    A newer release wrote that batch, or it keeps no results.
    """
    batches = list(dict.fromkeys(ack.batch_id for _, ack in part))
    if len(batches) == 1:
        note_failure(refusal)
        logger.error("%d messages return to the queue: %s", _messages(part), refusal)
        return [Answered(record, ack, None) for record, ack in part]
    parts = [[(record, ack) for record, ack in part if ack.batch_id == batch] for batch in batches]
    return [answer for each in parts for answer in _sent(send, each)]


def _answered(part: Sequence[Named], report: AckReport) -> list[Answered]:
    """Return the answers of a report, which has the items and the ranges each in their order."""
    items, ranges = deque(report.results), deque(report.ranges)
    return [Answered(record, ack, _counts(ack, items, ranges)) for record, ack in part]


def _counts(ack: Ack, items: deque[ItemVerdict], ranges: deque[RangeVerdict]) -> Mapping[Verdict, int]:
    """Take the verdicts of *ack* out of *items* and *ranges*; a range may have been sent in parts."""
    counts: Counter[Verdict] = Counter()
    while counts.total() < ack.size:
        at = ack.first + counts.total()
        if ranges and _is_part(ranges[0], ack, at):
            counts.update(ranges.popleft().counts)
        else:
            counts[items.popleft().verdict] += 1
    return dict(counts)


def _is_part(found: RangeVerdict, ack: Ack, first: int) -> bool:
    same = (found.batch_id, found.group_id, found.first) == (ack.batch_id, ack.group_id, first)
    return same and found.last <= ack.last


def _messages(part: Sequence[Named]) -> int:
    return len({record["messageId"] for record, _ in part})
