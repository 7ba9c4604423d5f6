"""What the pages say is held: each sentence with the check that judges it, and a mutant that breaks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.simulating.kills import known_seeds
from tests.simulating.mutants import killed_by
from tests.simulation import mutants
from tests.simulation.run import ROOM
from tests.simulation_seams import mutants as seams_mutants
from tests.simulation_seams.run import ROOM as SEAMS

DOCS = Path(__file__).resolve().parents[2] / "docs"
TRACKER = [
    ("tracker", "completion is never decided before every item is acked", "I1", "a batch closes once"),
    ("tracker", "decided once every item was processed at least once", "I2", "close climbs"),
    (
        "tracker",
        "exactly one logical caller gets the completion",
        "I3",
        "told is who is stored, not whoever asks",
    ),
    ("tracker", "a repeated ack changes nothing", "I4", "an add is guarded"),
    ("tracker", "after CLOSED, the total never changes", "I5", "a reservation wants an open batch"),
    (
        "how_the_tracker_works",
        "a forged or foreign id is refused before any write",
        "I6",
        "the tag of a group is checked",
    ),
    ("tracker", "the cost of an ack does not grow with the batch", "I7", "an ack reads no other page"),
    ("tracker", "every request may time out after it was applied", "I8", "a retried add has the key it had"),
    ("tracker", "no batch leaves a final state", "end", "healing wants a live batch"),
    ("tracker", "every reader gets 404", "lists", "a list leaves out what has expired"),
    ("tracker", "the last one to end acks it", "parents", "a parent is told"),
    ("tracker", "waits for all of its children", "I6", "an item waits for all of its children"),
    (
        "tracker",
        "an open for an item that is done, whose children have ended",
        "children",
        "an item takes no child when all have ended",
    ),
    (
        "how_the_tracker_works",
        "A request writes all its pages first, with the items that it heals, and climbs then",
        "failures",
        "a request heals before it climbs",
    ),
    (
        "how_the_tracker_works",
        "which completes it for no caller",
        "failed",
        "who has failed completed at no time",
    ),
    (
        "how_the_tracker_works",
        "a delayed copy of that write cannot end the batch later",
        "failed",
        "enough failures, and nothing healed since",
    ),
    ("tracker", "the three are equal", "map", "few pages are all read"),
    ("tracker", "`failed` is 1 for a cell with failed items", "map", "a map shows failures"),
    (
        "how_the_tracker_works",
        "resends ending events that were not confirmed",
        "sweep",
        "the sweeper sends the event again",
    ),
    ("how_the_tracker_works", "repairs batches that a crash left CLOSED", "sweep", "the sweeper seals"),
    (
        "how_the_tracker_works",
        "A batch is read consistently before anything is decided",
        "expiry",
        "get is a consistent read",
    ),
    ("tracker", "both answer for one window", "window", "a window shows failures"),
    ("tracker", "newest first", "lists", "a list is newest first"),
    (
        "how_the_tracker_works",
        "`samples` leaves out reasons of healed items that a crash or a bulk ack has left",
        "failures",
        "a healed item shows no reason",
    ),
    (
        "how_the_tracker_works",
        "drops the page's digits",
        "pages",
        "a full page loses its digits",
    ),
    ("how_the_tracker_works", "no reader depends on TTL", "expiry", "an ack of an expired batch is refused"),
    (
        "how_the_tracker_works",
        "Its pages are deleted 400 days after it was opened",
        "I4",
        "a page is kept for the longest life of a batch",
    ),
    (
        "client",
        "A key stands for one batch until its retention is over",
        "I8",
        "a batch is created once a key",
    ),
    ("tracker", "other keys for a day", "I8", "a key is kept for a day"),
    ("tracker", "after that a key takes another payload", "I8", "a key is free once its day is over"),
    ("tracker", "acks and adds prolong it", "expiry", "activity counts"),
]
SEAMS_CLAIMS = [
    ("tracker", "no item is acked before its work", "hand-over", "an item whose work raised is not acked"),
    (
        "tracker",
        "no message is deleted whose item nothing owns",
        "lost",
        "a message whose ack was not answered returns",
    ),
    (
        "tracker",
        "a batch is COMPLETE, and `BatchCompleted` is sent, only if every item is done",
        "I1",
        "an end by failures is no completion",
    ),
    (
        "tracker",
        "no work begins once the consumer could know",
        "skip",
        "an item of a batch that is over is not worked on",
    ),
    (
        "tracker",
        "an item that ends its process every time fails alone",
        "poison",
        "each redelivered record is acked alone",
    ),
    ("consumers", "the item stays failed", "hand-over", "a report stands when its function returns"),
    (
        "consumers",
        "those behind it in its message group return too, without work",
        "order",
        "no work begins behind a message that returns",
    ),
    (
        "tracker",
        "a waiting task ends once, with its batch",
        "resume",
        "a task fails if its batch does not complete",
    ),
    (
        "how_the_tracker_works",
        "makes no event of a deleted batch",
        "deletion",
        "a deleted batch has no event",
    ),
    ("how_the_tracker_works", "removes all user data", "deletion", "a delete removes what a user gave"),
    (
        "how_the_tracker_works",
        "every reader treats the batch as over",
        "deletion",
        "a deleted batch is over on each clock",
    ),
    (
        "how_the_tracker_works",
        "the *k*-th failed item is the same at each reading",
        "reopening",
        "a reopened batch has what failed",
    ),
    ("callbacks", "Each threshold is reported once", "thresholds", "a threshold is reported once"),
    ("callbacks", "as they were then", "thresholds", "an event has its progress"),
    (
        "callbacks",
        "No threshold is reported before it is reached",
        "thresholds",
        "a batch is stuck after the time it gave",
    ),
    ("callbacks", "goes to the callback if the batch names one", "callbacks", "an event names its callback"),
    (
        "results",
        "An add that is repeated with its key returns the same items",
        "hand-over",
        "attempts share the keys of their adds",
    ),
    ("chunks", "works on those alone", "skip", "a redelivered chunk is read first"),
    (
        "chunks",
        "A batch that has ended** is not worked on",
        "skip",
        "a known state is used for a bounded time",
    ),
]
CLAIMS = [
    *((ROOM, mutants.MUTANTS, *claim) for claim in TRACKER),
    *((SEAMS, seams_mutants.MUTANTS, *claim) for claim in SEAMS_CLAIMS),
]


@pytest.mark.parametrize(
    ("room", "known", "page", "sentence", "invariant", "rule"),
    CLAIMS,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_a_page_says_is_judged_by_its_invariant(room, known, page, sentence, invariant, rule):
    text = re.sub(r"\s+", " ", (DOCS / f"{page}.md").read_text())
    (mutant,) = (one for one in known if one.rule == rule)
    assert sentence in text
    with mutant.alive():
        found = killed_by(room, known_seeds(room)[rule])

    assert found is not None
    assert found.invariant == invariant
