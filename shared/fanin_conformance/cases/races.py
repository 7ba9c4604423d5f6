"""Cases of concurrent callers: the completion is reported to one of them, and never to none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

from fanin_conformance.adapter import Answer, Refused
from fanin_conformance.case import case
from fanin_conformance.trial import Trial, reports, together

CALLERS = 16


@case(
    "T9",
    "a closed batch of 1,000 items",
    "200 requests of 5 items come from 16 callers at once",
    "it is complete, and reported once",
    "Carlyle's test with threads, which looked at the close alone",
    is_race=True,
)
def many_acks_at_once(trial: Trial) -> None:
    batch, items = trial.opened(1000)
    closed = trial.tracker.close(batch)

    parts = SimpleQueue[list[str]]()
    for at in range(0, 1000, 5):
        parts.put(items[at : at + 5])

    def caller() -> list[Answer]:
        """Ack what is left, so that all callers are at work until the end."""
        mine: list[Answer] = []
        with suppress(Empty):
            while True:
                mine.append(trial.tracker.ack(parts.get_nowait()))
        return mine

    answers = together([caller] * CALLERS, trial.effort.timeout)
    trial.completed_once(batch, [closed, *(each for part in answers for each in part)])


@case(
    "T10",
    "an open batch of one item",
    "the close races the ack, 0 to 1 ms apart",
    "the completion is reported once, in every round",
    "a race that loses the completion in 4 % of rounds of Carlyle's order of statements",
    is_race=True,
)
def close_against_ack(trial: Trial) -> None:
    trial.rounds(_close_against_ack)


def _close_against_ack(trial: Trial) -> None:
    batch, items = trial.opened(1)
    answers = together([lambda: trial.tracker.close(batch), lambda: trial.tracker.ack(items)])
    trial.completed_once(batch, answers)


@case(
    "T11",
    "a closed batch of which two items are left, of one add or of two",
    "both are acked at once",
    "the completion is reported once, in every round",
    "a race that reports the completion twice in 98 % of rounds of Carlyle's order of statements",
    is_race=True,
)
def two_last_acks(trial: Trial) -> None:
    for last_acks in (_of_one_group, _of_two_groups, _far_apart):
        trial.rounds(partial(_two_last_acks, last_acks=last_acks), share=3)


def _two_last_acks(trial: Trial, last_acks: Callable[[Trial, str], list[str]]) -> None:
    batch = trial.tracker.open()
    items = last_acks(trial, batch)
    answers = [trial.tracker.close(batch)]
    answers += together([partial(trial.tracker.ack, [item]) for item in items])
    trial.completed_once(batch, answers)


def _of_one_group(trial: Trial, batch: str) -> list[str]:
    return trial.items(batch, 2)


def _of_two_groups(trial: Trial, batch: str) -> list[str]:
    return trial.items(batch, 1) + trial.items(batch, 1)


def _far_apart(trial: Trial, batch: str) -> list[str]:
    """Return the first and the last item of a group, of which the others are acked."""
    first, *middle, last = trial.items(batch, 70)
    trial.tracker.ack(middle)
    return [first, last]


@case(
    "T14",
    "an open batch whose only item is acked",
    "a close races an add, 500 rounds at full effort",
    "the add is refused, or the batch completes only after its items",
    "Carlyle's order of statements, Trigger.dev 3427",
    is_race=True,
)
def close_against_add(trial: Trial) -> None:
    trial.rounds(_close_against_add, share=20 if trial.effort.rounds >= 10_000 else 2)


def _close_against_add(trial: Trial) -> None:
    batch, items = trial.opened(1)
    answers: list[Answer] = [trial.tracker.ack(items)]
    added: list[str] = []

    def add() -> None:
        try:
            added.extend(trial.items(batch, 2))
        except Refused as refusal:
            trial.check(refusal.why == "conflict", f"the add: {refusal}")

    together([add, lambda: answers.append(trial.tracker.close(batch))])
    if added:
        early = reports(batch, answers) or trial.tracker.status(batch).is_complete
        trial.check(not early, "the add was accepted, and the batch is complete without its items")
        answers.append(trial.tracker.ack(added))
    trial.completed_once(batch, answers)
