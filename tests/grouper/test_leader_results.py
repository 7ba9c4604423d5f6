"""What a leader reports as whole values, and the cases in which it stops before it leads."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import BundleMessage, BundleState, Grouper, LeadOutcome, LeadResult, Lease
from tests.scripted import Scripted

WAITS = LeadResult(LeadOutcome.WAITING, (), False, False, timedelta())


@pytest.fixture
def noted(bench):
    """The store of the bench, whose requests are noted."""
    return Scripted(bench.store)


def lead(bench, noted, **facts):
    message = replace(bench.queue.receive(), **facts)
    bench.queue.sent.clear()
    return Grouper(replace(bench.world, store=noted)).lead(message)


def bundles_sent(bench):
    return [posting for posting in bench.queue.sent if isinstance(posting.message, BundleMessage)]


@pytest.mark.parametrize("request_", ["lease", "put_lease"])
@pytest.mark.parametrize("swept", [False, True])
def test_a_lane_of_another_leader_is_waited_for(bench, noted, request_, swept):
    bench.register("a")
    other = Lease(bench.task("a").lane, 7, "another", bench.clock.at + timedelta(seconds=60))
    noted.scripts[request_] = lambda *_: other
    result = lead(bench, noted, swept=swept)

    assert result == replace(
        WAITS, outcome=LeadOutcome.DROPPED if swept else LeadOutcome.WAITING, contended=True
    )
    assert len(bench.queue.sent) == (0 if swept else 1)


def test_a_task_that_is_deleted_meanwhile_is_not_waited_for(bench, noted):
    bench.register("a")
    task, read = bench.store.task, []
    noted.scripts["task"] = lambda key: None if read else (read.append(key) or task(key))
    noted.scripts["candidates"] = lambda *_: []

    assert lead(bench, noted).outcome is LeadOutcome.LED
    assert [posting.message for posting in bench.queue.sent] == [bundles_sent(bench)[0].message]


def test_a_bundle_that_another_has_called_meanwhile_gets_no_second_message(bench, noted):
    bench.register("a")
    noted.scripts["seal"] = lambda bundle: replace(bundle, state=BundleState.CALLING)
    lead(bench, noted)

    assert bundles_sent(bench) == []


def test_a_void_that_is_left_in_a_takeover_gets_no_message(bench, noted):
    bench.register("a")
    bench.store.put_lease(None, Lease(bench.task("a").lane, 7, "crashed", bench.clock.at))
    result = lead(bench, noted)

    assert result.took_over
    assert len(bundles_sent(bench)) == len(result.bundles) == 1
    assert noted.names().count("seal") == 2
