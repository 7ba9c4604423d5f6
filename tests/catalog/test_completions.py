from __future__ import annotations

import json
from datetime import timedelta

from examples.catalog.checks.completions import Book
from tests.catalog.makers import BATCH, NOON, detail


def body(**facts):
    return json.dumps({"source": "fanin", "detail": detail(**facts)})


def test_an_event_is_as_late_as_it_came_after_the_last_ack():
    book = Book()

    book.note(body(), NOON + timedelta(seconds=1))

    assert [arrival.delay for arrival in book.of(BATCH)] == [0.75]


def test_the_same_event_again_is_a_redelivery_and_no_second_event():
    book = Book()

    for second in range(3):
        book.note(body(), NOON + timedelta(seconds=second + 1))

    assert (len(book.of(BATCH)), book.redeliveries(BATCH)) == (1, 2)
    assert book.of(BATCH)[0].at == NOON + timedelta(seconds=1)


def test_another_event_of_the_batch_is_a_second_event():
    book = Book()

    book.note(body(), NOON)
    book.note(body(eventId="another"), NOON)

    assert (len(book.of(BATCH)), book.redeliveries(BATCH)) == (2, 0)


def test_events_of_other_batches_are_distinguished():
    book = Book()

    book.note(body(batchId="other", eventId="other:COMPLETE"), NOON)

    assert (book.of(BATCH), book.redeliveries(BATCH)) == ([], 0)
