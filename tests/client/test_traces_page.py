"""Runs docs/traces.md: the path from the publisher over messages and acks to the end of the batch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fanin.publishing.items import lent_client
from fanin.testing import FakeFanin
from tests.client.tracing import Queue, Spans, linked

PAGE = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


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

    ((nightly,), (send,), (release,)) = map(spans.named, ("nightly", "send work", "release"))
    delivery, *messages = sorted(spans.named("process work"), key=lambda span: span.start_time)
    (ack,) = spans.named("ack work")

    assert send.parent.span_id == nightly.context.span_id
    assert [delivery.parent, release.parent] == [None, None]
    assert [span.parent.span_id for span in (*messages, ack)] == [delivery.context.span_id] * 3
    assert [linked(span) for span in (delivery, *messages, ack)] == [[send.context.span_id]] * 4
    assert linked(release) == [nightly.context.span_id]
    assert [[event.name for event in span.events] for span in messages] == [["a", "b"], ["c"]]
    assert event["result"] == "succeeded"
