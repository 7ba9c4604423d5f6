"""What the use cases read of the store, and the sizes of pages that the caller does not set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.grouper import Bundle, BundleState, Grouper, Lane, Status
from fanin.grouper.rules.model import Lease
from tests.grouper.conftest import START, TENANT
from tests.scripted import Scripted


@pytest.fixture
def store(bench):
    return Scripted(bench.store)


@pytest.fixture
def grouper(bench, store):
    return Grouper(replace(bench.world, store=store))


def test_the_status_of_a_task_that_is_in_no_bundle_needs_no_read(bench, grouper, store):
    bench.register("a")
    created = grouper.status(bench.task("a"))
    bench.drain()
    ended = bench.task("a")

    assert (created, grouper.status(ended)) == (Status.CREATED, Status.SUCCEEDED)
    assert ended.bundle_id is not None
    assert store.made == []


def test_the_status_of_a_bundled_task_reads_its_bundle_once(bench, grouper, store):
    bench.register("a")
    bench.step()
    task = bench.task("a")

    assert grouper.status(task) is Status.BUNDLED
    assert [key.bundle_id for (key,) in store.of("bundle")] == [task.bundle_id]


def test_a_page_has_twenty_targets_if_the_caller_does_not_set_its_size(bench, grouper):
    names = [f"target-{number:02d}" for number in range(21)]
    for name in names:
        bench.store.write_lease(Lease(Lane(TENANT, name, "0"), 1, None, START))
    first = grouper.targets(TENANT)

    assert [each.target for each in first.rows] == names[:20]
    assert [each.target for each in grouper.targets(TENANT, cursor=first.cursor).rows] == names[20:]


def test_a_page_has_a_hundred_bundles_if_the_caller_does_not_set_its_size(bench, grouper):
    lane = Lane(TENANT, "search", "0")
    bundles = [Bundle(lane, fence, BundleState.READY, ("a",), 1, START, START) for fence in range(101)]
    for each in bundles:
        bench.store.write_bundle(each)
    newest = [each.key for each in reversed(bundles)]
    first = grouper.bundles(TENANT, "search")

    assert first.rows == newest[:100]
    assert grouper.bundles(TENANT, "search", cursor=first.cursor).rows == newest[100:]
