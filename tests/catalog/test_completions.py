from __future__ import annotations

import json
from datetime import timedelta

from examples.catalog.checks.completions import Book
from tests.catalog.makers import BATCH, NOON, detail


def noted(*events) -> Book:
    """A book of events: the facts of each, and its delay in seconds."""
    book = Book()
    for delay, facts in events:
        book.note(json.dumps({"source": "fanin", "detail": detail(**facts)}), NOON + timedelta(seconds=delay))
    return book


def test_the_same_event_again_is_a_redelivery_and_is_as_late_as_it_came_first():
    book = noted((1, {}), (2, {}), (3, {}))

    assert [arrival.delay for arrival in book.of(BATCH)] == [0.75]
    assert book.redeliveries(BATCH) == 2


def test_another_event_of_the_batch_is_a_second_event_and_those_of_other_batches_are_none():
    book = noted((0, {}), (0, {"eventId": "another"}), (0, {"batchId": "other", "eventId": "other:COMPLETE"}))

    assert (len(book.of(BATCH)), book.redeliveries(BATCH)) == (2, 0)
