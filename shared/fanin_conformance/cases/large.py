"""Cases of very many items: an ack costs the same, and what is missing fits one page."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial

from fanin_conformance.adapter import Span
from fanin_conformance.case import case
from fanin_conformance.trial import Trial

SMALL = 1000
SAMPLES = 40
SERIES = 3
TOLERANCE = 1.2
PAGE_SECONDS = 1.0


@case(
    "T31",
    "a batch of very many items and one of 1,000, nearly all acked",
    "the last items are acked one by one, and then again",
    "the medians are within 20 %, and duplicates cost no more",
    "a scan for each ack in Carlyle, 91 ms for a duplicate",
    is_large=True,
)
def an_ack_costs_the_same(trial: Trial) -> None:
    ratios = [_ratios(trial) for _ in range(SERIES)]
    size, again = (min(each) for each in zip(*ratios, strict=True))
    trial.seen.append(f"{trial.effort.items:,} items: {size:.2f} of the small one, duplicates {again:.2f}")
    trial.check(size <= TOLERANCE, f"an ack of the large batch takes {size:.2f} times as long")
    trial.check(again <= TOLERANCE, f"a duplicate takes {again:.2f} times as long as an ack")


def _ratios(trial: Trial) -> tuple[float, float]:
    """Return the median time of an ack of the large batch, and of its duplicate, in that of the small one.

    The acks of both batches are sent by turns, so that both meet the same machine.
    """
    batches = [_nearly_acked(trial, size) for size in (trial.effort.items, SMALL)]
    times: list[list[float]] = [[], []]
    for pair in zip(*(items for _, items in batches), strict=True):
        for taken, item in zip(times, pair, strict=True):
            taken.append(_seconds(trial, partial(trial.tracker.ack, [item])))
    large, small = map(statistics.median, times)
    for batch, _ in batches:
        trial.check(trial.tracker.status(batch).is_complete, "not complete after the last ack")
    again = statistics.median(_seconds(trial, partial(trial.tracker.ack, [item])) for item in batches[0][1])
    return _ratio(large, small), _ratio(again, large)


def _ratio(time: float, usual: float) -> float:
    """Return one time in another, which may be too short to be measured."""
    return time / usual if usual else 1.0 + time


def _nearly_acked(trial: Trial, size: int) -> tuple[str, list[str]]:
    """Return a closed batch of *size* items, and the ids of its last ones, which are not acked yet."""
    batch = trial.tracker.open()
    outstanding = SAMPLES
    items: list[str] = []
    for span in reversed(trial.spans(batch, size)):
        few = min(outstanding - len(items), span.last - span.first + 1)
        cut = span.last - few + 1
        items += [trial.tracker.item_id(batch, span.group, at) for at in range(cut, span.last + 1)]
        if cut > span.first:
            trial.tracker.ack_span(batch, Span(span.group, span.first, cut - 1))
    trial.tracker.close(batch)
    return batch, items


def _seconds(trial: Trial, call: Callable[[], object]) -> float:
    started = trial.tracker.seconds()
    call()
    return trial.tracker.seconds() - started


@case(
    "T37",
    "a batch of very many items, of which three are missing",
    "what is outstanding is listed",
    "one page has these three, in less than a second",
    "Sidekiq 1455",
    is_large=True,
)
def three_are_missing(trial: Trial) -> None:
    batch = trial.tracker.open()
    spans = trial.spans(batch, trial.effort.items)
    missing = [spans[0].first, spans[0].last // 2, spans[0].last]
    for span in spans:
        cuts = missing if span is spans[0] else []
        for part in _between(span, cuts):
            trial.tracker.ack_span(batch, part)
    times = [_seconds(trial, lambda: trial.tracker.outstanding(batch)) for _ in range(SERIES)]
    found = list(trial.tracker.outstanding(batch))
    trial.check(found == [Span(spans[0].group, at, at) for at in missing], f"listed: {found!r:.80}")
    trial.seen.append(f"3 of {trial.effort.items:,} items in {min(times):.2f} s")
    trial.check(min(times) < PAGE_SECONDS, f"the list takes {min(times):.2f} s")


def _between(span: Span, cuts: list[int]) -> list[Span]:
    """Return the parts of *span* without the items at *cuts*."""
    ends = [*cuts, span.last + 1]
    starts = [span.first, *(at + 1 for at in cuts)]
    return [Span(span.group, start, end - 1) for start, end in zip(starts, ends, strict=True) if start < end]
