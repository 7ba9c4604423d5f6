"""The examples of docs/results.md, as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from fanin.testing import FakeFanin, deliver

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


def size_of(item_id: str) -> int:
    """The result of an item: 1 for the first, 2 for the second; the third fails."""
    index = int(item_id.rsplit(":", 1)[1])
    if index == 2:
        raise ValueError("no picture")
    return index + 1


def test_once_the_batch_is_complete_the_results_of_all_that_succeeded_are_there():
    fake, names = FakeFanin(), {"work_on": size_of}
    for code in EXAMPLES.values():
        exec(code, names)  # noqa: S102
    with fake.in_place_of(names["fanin"]):
        items = names["start"]("catalog-7", 5)
        dead = deliver(names["resize"], items, raises=False).dead
        deliver(names["fanin"].dead_letter_handler(), dead)
        deliver(names["resize"], items, raises=False)  # each message once more
        (event,) = fake.events

        assert (event["result"], event["failed"]) == ("completed_with_failures", 1)
        assert names["add_up"]({"detail": event}, None) == 1 + 2 + 4 + 5


def test_every_python_block_of_the_page_is_run():
    assert PAGE.count("```python") == len(EXAMPLES)
