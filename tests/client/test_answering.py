"""Acks of a large delivery are divided by item, and answered in the order of the messages."""

from __future__ import annotations

from random import Random

from fanin.client.consuming.answering import answers_of
from fanin.client.transports.reports import AckReport, ItemVerdict
from fanin.errors import StoreUnavailable
from fanin.tracker import Ack, Verdict


class Requests:
    """Keeps the items of each request; that of item 0 is lost."""

    def __init__(self, loses: bool = False) -> None:
        self.loses, self.items = loses, []

    def __call__(self, acks, key):
        self.items.append([ack.first for ack in acks])
        if self.loses and acks[0].first == 0:
            raise StoreUnavailable("lost")
        return AckReport(tuple(ItemVerdict(str(ack.first), Verdict.ACCEPTED) for ack in acks), ())


def delivery(count):
    numbers = Random(1).sample(range(count), count)
    return [({"messageId": str(number)}, Ack("b", "g", number, number, "me")) for number in numbers]


def test_each_request_of_a_large_delivery_has_neighbours():
    requests, named = Requests(), delivery(3_000)

    answers = answers_of(requests, named)

    assert requests.items == [list(range(first, first + 1_000)) for first in (0, 1_000, 2_000)]
    assert [(each.record, each.ack) for each in answers] == named


def test_the_answers_of_a_lost_request_are_those_of_its_items():
    answers = answers_of(Requests(loses=True), delivery(3_000))

    assert {each.ack.first for each in answers if each.counts is None} == set(range(1_000))
