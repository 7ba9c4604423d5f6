"""Cases of wrong requests: each is refused, and changes nothing."""

from __future__ import annotations

import re
from functools import partial

from fanin_conformance.adapter import Refused
from fanin_conformance.case import case
from fanin_conformance.trial import Trial

NOT_AN_INDEX = (-1, "x", "", "1e1")
BEYOND = (10, 40, 64, 2**32)
LAST_DIGIT = re.compile(r"[0-9a-fA-F](?=[^0-9a-fA-F]*$)")


@case(
    "T17",
    "two batches",
    "an item of one is acked under the id of the other",
    "it is rejected, and neither changes",
    "Carlyle clears the item, and looks at the wrong batch",
)
def an_item_of_another_batch(trial: Trial) -> None:
    one, _ = trial.opened(3)
    two = trial.tracker.open()
    group = trial.tracker.add(two, 3).groups[0]
    trial.rejected(trial.tracker.item_id(one, group.id, 0), "not_found", "invalid")
    for batch in (one, two):
        trial.pending(batch, 0, "an ack under the id of another batch")


@case(
    "T18",
    "a group of 10 items",
    "an index beyond it, a negative one, or a text is acked",
    "each is rejected, and nothing is acked",
    "Carlyle acks item 0 for the index 2^32",
)
def an_index_that_is_not_there(trial: Trial) -> None:
    batch = trial.tracker.open()
    group = trial.tracker.add(batch, 10).groups[0]
    for index in (*NOT_AN_INDEX, *BEYOND):
        item = trial.tracker.item_id(batch, group.id, index)
        trial.rejected(item, "out_of_range", "not_found", "invalid")
        trial.pending(batch, 0, f"the ack of index {index}")
    trial.tracker.close(batch)
    trial.check(not trial.tracker.status(batch).is_complete, "complete without a valid ack")


@case(
    "T20",
    "the id of a batch that does not exist",
    "it is closed, read, acked, and items are added",
    "each is refused, and nothing is created",
    "Carlyle's answers, and the rows that its counters leave",
)
def an_unknown_batch(trial: Trial) -> None:
    tracker, unknown = trial.tracker, trial.tracker.unknown_batch()
    for action, call in (
        ("a status", tracker.status),
        ("a close", tracker.close),
        ("an add", lambda batch: tracker.add(batch, 1)),
        ("a status after them", tracker.status),
    ):
        trial.refused(f"{action} of an unknown batch", partial(call, unknown), "not_found")
    trial.rejected(tracker.item_id(unknown, tracker.unknown_batch(), 0), "not_found")
    trial.refused("a status after an ack", lambda: tracker.status(unknown), "not_found")


@case(
    "T21",
    "an open batch",
    "0, -5 and too many items are added",
    "each is refused, and the batch works on",
    "Carlyle divides by zero, and stores a group of -5 items",
)
def a_count_that_is_none(trial: Trial) -> None:
    batch = trial.tracker.open()
    for count in (0, -5, trial.tracker.add_max + 1):
        trial.refused(f"an add of {count}", partial(trial.tracker.add, batch, count), "invalid")
    total = trial.tracker.status(batch).total
    trial.check(total in (0, None), f"the total is {total}")
    items = trial.items(batch, 2)
    trial.completed_once(batch, [trial.tracker.close(batch), *trial.ack_all(items)])


@case(
    "T38",
    "an item id that differs from a real one by one digit, and a caller without credentials",
    "the item is acked, and the batch deleted",
    "both are refused",
    "Carlyle's ids are consecutive, and anyone may delete all batches",
)
def guesses_and_strangers(trial: Trial) -> None:
    tracker = trial.tracker
    batches = [tracker.open() for _ in range(2)]
    groups = [tracker.add(batch, 3).groups[0].id for batch in batches]
    guess = tracker.item_id(neighbour(batches[0]), neighbour(groups[0]), 0)
    trial.rejected(guess, "not_found", "invalid")
    trial.rejected(tracker.item_id(batches[0], neighbour(groups[0]), 0), "not_found", "invalid")
    for batch in batches:
        trial.pending(batch, 0, "a guessed id")
    stranger = tracker.anonymous()
    for action, call in (("a delete", stranger.remove), ("a status", stranger.status)):
        trial.refused(f"{action} without credentials", partial(call, batches[1]), "denied")
    trial.check(_is_there(trial, batches[1]), "the batch is gone")


def neighbour(text: str) -> str:
    """Return the id beside *text*: its last hexadecimal digit and one more; 9 is followed by 0."""
    return LAST_DIGIT.sub(lambda digit: "123456789abcdef0"[int(digit[0], 16)], text)


def _is_there(trial: Trial, batch: str) -> bool:
    try:
        trial.tracker.status(batch)
    except Refused:
        return False
    return True
