from __future__ import annotations

import json
from typing import Any

from examples.catalog.functions.bundling import Bundling, task_of
from examples.catalog.functions.index import Entry
from examples.catalog.functions.package import Package
from tests.item_ids import item_named

ENTRIES = [
    Entry(item_named(n), Package(f"p{n}", "1", "games", "Ada", 880, ()), sent_at=0, processed_at=0)
    for n in range(13)
]


class EveryOther:
    """A queue that fails every other message."""

    def __init__(self) -> None:
        self.sent: list[list[dict[str, Any]]] = []

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        self.sent.append([json.loads(each["MessageBody"]) for each in Entries])
        return {"Failed": [{"Id": each["Id"]} for each in Entries[1::2]]}


def test_the_tasks_of_a_delivery_are_sent_ten_at_once_and_those_that_were_not_sent_are_named() -> None:
    queue = EveryOther()

    sent = Bundling(queue, "url", frozenset({"games"})).hand_over(ENTRIES)

    assert sent == [n % 2 == 0 for n in range(10)] + [True, False, True]
    assert [len(each) for each in queue.sent] == [10, 3]
    assert [task for each in queue.sent for task in each] == [task_of(entry) for entry in ENTRIES]
