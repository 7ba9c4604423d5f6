"""The jobs of packages: what a job holds is what its index row needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from examples.catalog.functions.index import Entry
from examples.catalog.functions.package import checked
from examples.catalog.functions.queueing import entry_of, job_of
from fanin.queue import Job, NewJob, QueueKey
from fanin.queue.rules.keys import JobKey, PartKey
from fanin.queue.rules.model import JobState
from tests.catalog.test_worker import RECORD, TENANT
from tests.item_ids import item_named


def stored(new: NewJob) -> Job:
    key = JobKey(PartKey(QueueKey(TENANT, "demo"), 0), new.key)
    return Job(key, new.key, str(new.id), JobState.BUSY, 0, 0, 0, payload=new.payload, item_id=new.item_id)


def test_a_job_has_the_whole_package_for_its_row() -> None:
    entry = Entry(item_named(7), checked(RECORD), 1000, 0)

    assert entry_of(stored(job_of(entry)), 1500).row() == replace(entry, processed_at=1500).row()


@pytest.mark.parametrize("payload", ["bad", "{}", "[]", '{"package": {}, "sentAt": 1}', None])
def test_a_payload_that_is_no_package_is_refused(payload: str | None) -> None:
    job = replace(stored(NewJob("a-key")), payload=payload)

    with pytest.raises(ValueError, match="the payload of job 'a-key' is no package"):
        entry_of(job, 0)
