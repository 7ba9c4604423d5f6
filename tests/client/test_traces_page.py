"""Runs docs/traces.md: the path from the publisher over messages and acks to the end of the batch."""

from __future__ import annotations

import pytest

from fanin.publishing.items import lent_client
from fanin.testing import FakeFanin
from tests.client.tracing import EXAMPLES, PAGE, Queue, Spans, assert_one_chain


def test_every_python_block_of_the_page_is_run():
    assert PAGE.count("```python") == len(EXAMPLES)


@pytest.fixture
def spans(monkeypatch):
    return Spans(monkeypatch)


def test_a_fan_out_is_followed_from_its_publisher_to_what_its_end_starts(spans):
    names, fake, queue = {}, FakeFanin(), Queue()
    for code in EXAMPLES.values():
        exec(code, names)  # noqa: S102
    with fake.in_place_of(names["fanin"]), lent_client(queue):
        names["publish"](["a", "b", "c"])
        names["work"](queue.event(), None)
        (event,) = fake.events
        names["on_end"]({"detail": event}, None)

    assert_one_chain(spans)
    assert event["result"] == "succeeded"
