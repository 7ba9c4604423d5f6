"""Runs the examples of docs/consumers.md in order, unchanged, against the local run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.client.conftest import sqs_event
from tests.client.received import DELETED

PAGE = (Path(__file__).parents[2] / "docs" / "consumers.md").read_text()
EXAMPLES = re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def names(run):
    """What the examples define."""
    names = {}
    for _, code in EXAMPLES:
        exec(code.replace("http://127.0.0.1:8787", run.url), names)  # noqa: S102
    return names


def test_every_python_block_of_the_page_is_run():
    assert [title for title, _ in EXAMPLES] == [
        *("client", "fail", "in_threads", "grow", "by_name", "is_over")
    ]
    assert PAGE.count("```python") - PAGE.count("<!-- not run:") == len(EXAMPLES)


def test_what_is_no_jpeg_fails_for_good(names):
    fanin, sent = names["fanin"], names["sent"]
    with fanin.open() as batch:
        items = batch.add(2)
    sent.clear()
    bodies = [json.dumps({"itemId": i, "name": n}) for i, n in zip(items, ["a.jpg", "b.pdf"], strict=True)]

    assert names["thumbnail"](sqs_event(*bodies), None) == DELETED
    assert (sent, batch.status().result) == (["a.jpg"], "completed_with_failures")


def test_work_in_a_pool_is_waited_for(names):
    fanin, sent = names["fanin"], names["sent"]
    with fanin.open() as batch:
        (item,) = batch.add(1)
    sent.clear()

    assert names["in_threads"](sqs_event(json.dumps({"itemId": item, "names": ["a", "b"]})), None) == DELETED
    assert (sent, batch.status().result) == (["A", "B"], "succeeded")


def test_the_pages_of_a_chapter_ack_it(names):
    fanin, sent = names["fanin"], names["sent"]
    with fanin.open("book") as book:
        chapter = book.add(1)[0]
    sent.clear()

    assert names["chapters"](sqs_event(json.dumps({"itemId": chapter})), None) == DELETED
    assert (book.status().acked, len(sent)) == (0, 3)
    fanin.ack(sent)
    assert book.status().result == "succeeded"


def test_what_is_forwarded_is_acked_by_the_next_consumer(names):
    fanin, sent = names["fanin"], names["sent"]
    with fanin.open() as batch:
        item = batch.add(1)[0]
    sent.clear()

    assert names["forward"](sqs_event(item), None) == DELETED
    assert (batch.status().acked, sent) == (0, [item])


def test_a_long_function_ends_with_its_batch(names):
    fanin, sent = names["fanin"], names["sent"]
    items = fanin.open().add(1)
    sent.clear()
    names["long_work"](sqs_event(json.dumps({"itemId": items[0], "parts": [1, 2]})), None)

    assert sent == [1, 2]
