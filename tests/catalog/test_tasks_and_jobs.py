"""The tasks and the jobs that packages become."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from examples.catalog.functions.bundling import Bundling, task_of
from examples.catalog.functions.index import Entry
from examples.catalog.functions.package import Package, checked
from examples.catalog.functions.queueing import entry_of, job_of
from fanin import Job, NewJob
from fanin.testing import FakeFanin
from tests.catalog.test_worker import RECORD
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


def taken(new: NewJob) -> Job:
    """The job as its consumer takes it."""
    with FakeFanin().queue("demo") as queue:
        queue.add(replace(new, item_id=None))
        with queue.take(1, wait=0) as (job,):
            return replace(job, item_id=new.item_id)


def test_a_job_has_the_whole_package_for_its_row() -> None:
    entry = Entry(item_named(7), checked(RECORD), 1000, 0)

    assert entry_of(taken(job_of(entry)), 1500).row() == replace(entry, processed_at=1500).row()


@pytest.mark.parametrize("payload", ["bad", {}, [], {"package": {}, "sentAt": 1}, 7, None])
def test_a_payload_that_is_no_package_is_refused(payload: object) -> None:
    job = replace(taken(NewJob("a-key")), payload=payload)

    with pytest.raises(ValueError, match="the payload of job 'a-key' is no package"):
        entry_of(job, 0)
