"""The requests of the model of scale are those that production sends, one by one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from moto import mock_aws

from fanin.grouper import Answer, NewTask, Policy
from fanin.grouper.rules.model import BundleKey, Lane, TaskKey
from fanin.queue import NewJob
from fanin.tracker import Ack, OpenBatch, Outcome
from fanin.tracker.dynamodb.items import sample_item
from fanin.tracker.reads.failure_reasons import SAMPLES
from fanin.tracker.rules.model import Sample
from fanin.tracker.rules.tree import Shape
from lab.scale_limits import streams
from lab.scale_limits.counted import TENANT, Site
from tests.contract import grouper_tables, moto_clients, queue_table, tables

NAMES = {
    "batches": "Batches",
    "pages": "Pages",
    "tasks": grouper_tables.TABLES.tasks,
    "leases": grouper_tables.TABLES.leases,
    "bundles": grouper_tables.TABLES.bundles,
    "jobs": queue_table.QUEUE_TABLE,
}


@pytest.fixture
def site():
    with mock_aws():
        uncounted, counted = moto_clients.client("dynamodb"), moto_clients.client("dynamodb")
        tables.create_tables(uncounted)
        grouper_tables.create_tables(uncounted)
        queue_table.create_queue_table(uncounted)
        with tables.deep_recursion():
            yield Site.over(counted, uncounted, NAMES)


def sent(site) -> list[dict]:
    return [dict(each) for each in site.meter.take()]


def modelled(requests) -> list[dict]:
    return [dict(each) for each in requests]


@pytest.mark.parametrize(("items", "together"), [(10, 1), (12, 4), (1, 1)])
def test_the_lifecycle_of_a_batch_of_one_page(site, items, together):
    tracker = site.tracker(page_bits=64)
    batch = tracker.open(TENANT, OpenBatch())
    group = tracker.add(TENANT, batch.batch_id, items).groups[0].id
    tracker.close(TENANT, batch.batch_id, "me")
    for first in range(0, items, together):
        tracker.ack(TENANT, [Ack(batch.batch_id, group, first, first + together - 1, "me")])
    tracker.confirm(tracker.get(TENANT, batch.batch_id))

    assert sent(site) == modelled(streams.lifecycle(batch.key, items, Shape(64, 64), together))


def test_full_pages_climb(site):
    tracker, shape = site.tracker(page_bits=4), Shape(4, 4)
    batch = tracker.open(TENANT, OpenBatch())
    group = tracker.add(TENANT, batch.batch_id, 80).groups[0].id
    site.meter.take()
    for item in range(20):
        tracker.ack(TENANT, [Ack(batch.batch_id, group, item, item, "me")])
    found = sent(site)
    wanted = []
    for number in range(5):
        wanted += [{streams.page(batch.key, 1, 1): 1}] if number == 4 else []  # stored before its first leaf
        wanted += [streams.acked(batch.key, number)] * 4
        wanted += streams.climbed(batch.key, number, shape, last=80 // 16)

    assert found == modelled(wanted)


def test_failures_are_transactions_with_the_batch_and_their_reasons_lie_with_it(site):
    tracker = site.tracker()
    batch = tracker.open(TENANT, OpenBatch())
    group = tracker.add(TENANT, batch.batch_id, 4096).groups[0].id

    def fail(first, last, reason=None):
        site.meter.take()
        tracker.ack(TENANT, [Ack(batch.batch_id, group, first, last, "me", Outcome.FAILURE, reason)])
        return sent(site)

    assert fail(0, 99) == modelled([streams.failed(batch.key, 0)])
    assert fail(100, 199, "why") == modelled([streams.failed(batch.key, 0), streams.reason(batch.key)])
    first = fail(1024, 2046)[0]  # a full page is written compacted
    assert first == dict(streams.failed(batch.key, 1, streams.FAILED_PAGE))


def test_a_reason_is_offered_to_each_of_its_slots_once_all_are_taken(site):
    tracker = site.tracker()
    batch = tracker.open(TENANT, OpenBatch())
    group = tracker.add(TENANT, batch.batch_id, 4096).groups[0].id
    taken = Sample("another", "why", batch.created_at)
    for slot in range(SAMPLES):
        site.meter.uncounted.put_item(
            TableName=NAMES["batches"], Item=sample_item(batch.key, slot, taken, batch.expires_at)
        )
    site.meter.take()
    tracker.ack(TENANT, [Ack(batch.batch_id, group, 0, 0, "me", Outcome.FAILURE, "why")])

    first, *offers = sent(site)
    assert first == dict(streams.failed(batch.key, 0))
    assert offers == modelled([streams.reason(batch.key)] * streams.REASON_TRIES)


class Api:
    """A batch API to which every task succeeds; endings have no listener."""

    def call(self, call):
        return Answer()

    def notify(self, tasks):
        """Nothing."""


def test_the_tasks_of_a_bundle(site):
    grouper, target = site.grouper(Policy(max_size=100)), Lane(TENANT, "x", "0")

    def bundle(number):
        tasks = [TaskKey(TENANT, f"{number}-{each}") for each in range(5)]
        grouper.register_all(TENANT, [NewTask(payload=1, task_id=each.task_id, target="x") for each in tasks])
        site.time += timedelta(seconds=5)
        grouper.lead(next(each.message for each in site.posted if each.message.key == tasks[0]))
        message = site.posted[-1].message
        grouper.handle(message, Api(), Api())
        return tasks, BundleKey(TENANT, message.key.bundle_id)

    bundle(1)
    site.meter.take()
    tasks, message = bundle(2)

    assert sent(site) == modelled(
        [
            *(streams.registered(each, target) for each in tasks),
            *streams.bundled(tasks, target, message),
            *streams.called(tasks, message),
        ]
    )


def test_a_job(site):
    queue = site.queue(parts=4)
    queue.context.config()
    with queue.take(wait=0):
        site.meter.take()
    queue.add(NewJob("a", "x" * 300))
    with queue.take(wait=0) as jobs:
        assert len(jobs) == 1

    assert sent(site) == modelled(streams.job(queue.key, "a", 4))
