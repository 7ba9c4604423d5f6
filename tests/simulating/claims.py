"""Sentences of the pages, each with the broken rule that shows it and the invariant that then breaks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Claim(NamedTuple):
    """A sentence of a page. The *invariant* of the *simulator* judges it: it breaks without the *rule*."""

    simulator: str
    page: str
    rule: str
    invariant: str
    sentence: str

    def stands(self) -> bool:
        """Return whether the page has the sentence, or its reference."""
        pages = (DOCS / f"{name}.md" for name in (self.page, f"{self.page}_reference"))
        return any(self.sentence in re.sub(r"\s+", " ", page.read_text()) for page in pages if page.exists())


BY_PAGE = {
    ("tracker", "tracker"): (
        ("a batch closes once", "I1", "completion is never decided before every item is acked"),
        ("close climbs", "I2", "decided once every item was processed at least once"),
        (
            "the stored caller is notified, not each that asks",
            "I3",
            "exactly one logical caller gets the completion",
        ),
        ("an add is guarded", "I4", "a repeated ack changes nothing"),
        ("a reservation wants an open batch", "I5", "after CLOSED, the total never changes"),
        ("an ack reads no other page", "I7", "the cost of an ack does not grow with the batch"),
        ("a retried add has the key it had", "I8", "every request may time out after it was applied"),
        ("healing wants a live batch", "end", "no batch leaves a final state"),
        ("a list leaves out what has expired", "lists", "every reader gets 404"),
        ("a parent is notified", "parents", "the last one to end acks it"),
        ("an item waits for all of its children", "I6", "waits for all of its children"),
        (
            "an item takes no child when all have ended",
            "children",
            "an open for an item that is done, whose children have ended",
        ),
        ("few pages are all read", "map", "The three are equal"),
        ("a map shows failures", "map", "`failed` is 1 for a cell with failed items"),
        ("a window shows failures", "window", "both answer for one window"),
        ("a list is newest first", "lists", "newest first"),
        ("a key is kept for a day", "I8", "other keys for a day"),
        ("a key is free once its day is over", "I8", "after that a key takes another payload"),
        ("activity counts", "expiry", "acks and adds prolong it"),
    ),
    ("tracker", "how_the_tracker_works"): (
        ("the tag of a group is checked", "I6", "a forged or foreign id is refused before any write"),
        (
            "a request heals before it climbs",
            "failures",
            "A request writes all its pages first, with the items that it heals, and climbs then",
        ),
        ("who has failed completed at no time", "failed", "which completes it for no caller"),
        (
            "enough failures, and nothing healed since",
            "failed",
            "a delayed copy of that write cannot end the batch later",
        ),
        ("the sweeper sends the event again", "sweep", "resends ending events that were not confirmed"),
        ("the sweeper seals", "sweep", "repairs batches that a crash left CLOSED"),
        ("get is a consistent read", "expiry", "A batch is read consistently before anything is decided"),
        (
            "a healed item shows no reason",
            "failures",
            "`samples` leaves out reasons of healed items that a crash or a bulk ack has left",
        ),
        ("a full page loses its digits", "pages", "drops the page's digits"),
        ("an ack of an expired batch is refused", "expiry", "no reader depends on TTL"),
        (
            "a page is kept as long as its batch can be",
            "I4",
            "Its pages are deleted 400 days after it was opened",
        ),
    ),
    ("tracker", "client"): (
        ("a batch is created once a key", "I8", "A key names one batch until its retention is over"),
    ),
    ("seams", "tracker"): (
        ("an item whose work raised is not acked", "hand-over", "no item is acked before its work"),
        (
            "a message whose ack was not answered returns",
            "lost",
            "no message is deleted whose item nothing owns",
        ),
        (
            "an end by failures is no completion",
            "I1",
            "a batch is COMPLETE, and `BatchCompleted` is sent, only if every item is done",
        ),
        (
            "an item of a batch that is over is not worked on",
            "skip",
            "no work begins once the consumer could know",
        ),
        (
            "each redelivered record is acked alone",
            "poison",
            "an item that ends its process every time fails alone",
        ),
        ("a task fails if its batch does not complete", "resume", "a waiting task ends once, with its batch"),
    ),
    ("seams", "consumers"): (
        ("a report stands when its function returns", "hand-over", "the item stays failed"),
        (
            "no work begins behind a message that returns",
            "order",
            "those behind it in its message group return too, without work",
        ),
    ),
    ("seams", "how_the_tracker_works"): (
        ("a deleted batch has no event", "deletion", "makes no event of a deleted batch"),
        ("a delete removes what a user gave", "deletion", "removes all user data"),
        ("a deleted batch is over on each clock", "deletion", "every reader treats the batch as over"),
        (
            "a reopened batch has what failed",
            "reopening",
            "the *k*-th failed item is the same at each reading",
        ),
    ),
    ("seams", "callbacks"): (
        ("a threshold is reported once", "thresholds", "Each threshold is reported once"),
        ("an event has its progress", "thresholds", "as they were then"),
        (
            "a batch is stuck after the time it gave",
            "thresholds",
            "No threshold is reported before it is reached",
        ),
        ("an event names its callback", "callbacks", "goes to the callback if the batch names one"),
    ),
    ("seams", "results"): (
        (
            "attempts share the keys of their adds",
            "hand-over",
            "A repeated add returns the same items",
        ),
    ),
    ("seams", "chunks"): (
        ("a redelivered chunk is read first", "skip", "works on those alone"),
        ("a known state is used for a bounded time", "skip", "A batch that has ended** is not worked on"),
    ),
}
CLAIMS = [Claim(*of, *claim) for of, claims in BY_PAGE.items() for claim in claims]
