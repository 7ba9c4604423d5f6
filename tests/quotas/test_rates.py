"""Rates of a tenant: what is admitted, what a refusal says, and which requests they make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from moto import mock_aws

from fanin.errors import QuotaExceeded, StoreUnavailable
from fanin.quotas.dynamodb import DynamoQuotas
from fanin.quotas.memory import MemoryQuotas
from fanin.quotas.model import Quota
from fanin.quotas.queues import Queues
from tests.contract import moto_clients
from tests.contract.tables import create_tables
from tests.quotas.world import World, admitted


class Counting(MemoryQuotas):
    """Counts the requests."""

    requests = 0

    def start(self, *given):
        self.requests += 1
        return MemoryQuotas.start(self, *given)

    def spend(self, *given):
        self.requests += 1
        return MemoryQuotas.spend(self, *given)


def test_twice_the_limit_is_admitted_at_once_and_again_after_two_seconds():
    world = World()
    rates = world.rates(adds=10)
    first = [admitted(rates.charge, "acme", Quota.ADDS) for _ in range(30)]
    world.later(2.1)
    second = [admitted(rates.charge, "acme", Quota.ADDS) for _ in range(30)]

    assert (sum(first), sum(second)) == (20, 20)


def test_a_refusal_names_the_quota_its_limit_the_use_and_when():
    rates = World().rates(jobs=10)
    rates.charge("acme", Quota.JOBS, 100)

    with pytest.raises(QuotaExceeded) as refused:
        rates.charge("acme", Quota.JOBS)

    error = refused.value
    assert (error.quota, error.limit, error.used, error.retry_after) == ("jobs", 10, 50, 9)
    assert str(error) == (
        "the quota jobs of this tenant is 10 a second, and 50 a second are used; repeat the request after 9 s"
    )


def test_a_large_request_is_admitted_and_the_next_ones_wait_for_its_debt():
    world = World()
    rates = world.rates(jobs=100)

    assert admitted(rates.charge, "acme", Quota.JOBS, 1000)
    world.later(7.9)
    assert not admitted(world.rates(jobs=100).charge, "acme", Quota.JOBS, 1)
    world.later(0.2)
    assert admitted(world.rates(jobs=100).charge, "acme", Quota.JOBS, 1000)


def test_a_clock_that_is_ahead_shuts_no_tenant_out_for_longer_than_a_debt():
    world = World()
    world.rates(ahead=300, adds=10).charge("acme", Quota.ADDS)

    assert admitted(world.rates(adds=10).charge, "acme", Quota.ADDS)


def test_a_bucket_that_changes_all_the_time_is_not_tried_for_ever():
    class Restless(MemoryQuotas):
        def start(self, key, at, full_at):
            return super().spend(key, at, 0, at)

    with pytest.raises(StoreUnavailable):
        World(Restless()).rates(adds=1).charge("acme", Quota.ADDS)


def test_threads_together_are_admitted_no_more_than_the_burst():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        world = World(DynamoQuotas(client, "Batches"))
        processes = [world.rates(adds=20) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            runs = [
                pool.submit(admitted, each.charge, "acme", Quota.ADDS) for _ in range(8) for each in processes
            ]
            accepted = sum(run.result() for run in runs)

    assert accepted == 40


def test_a_refused_tenant_is_refused_for_a_second_though_tokens_flow_in():
    store = Counting()
    world = World(store)
    rates = world.rates(adds=10)
    while admitted(rates.charge, "acme", Quota.ADDS):
        pass
    requests = store.requests
    world.later(0.9)

    assert not admitted(rates.charge, "acme", Quota.ADDS)
    assert store.requests == requests
    world.later(0.1)
    assert admitted(rates.charge, "acme", Quota.ADDS)


def test_what_a_request_has_read_is_paid_afterwards_and_the_next_ones_wait_for_it():
    """A search through 16,000 batches reads about 1,000 units, which is known once it has read them."""
    world = World()
    for process in (world.rates(reads=100), world.rates(reads=100)):
        process.charge("acme", Quota.READS)
        process.owe("acme", Quota.READS, 99)
    world.later(-0.1)
    world.rates(reads=100).owe("acme", Quota.READS, 1800)
    world.later(18)
    assert not admitted(world.rates(reads=100).charge, "acme", Quota.READS)
    assert admitted(world.rates(reads=100).charge, "other", Quota.READS)
    world.later(0.3)

    assert admitted(world.rates(reads=100).charge, "acme", Quota.READS)


def test_a_tenant_waits_for_what_it_has_read_for_ten_minutes_at_most():
    world = World()
    rates = world.rates(reads=10)
    for _ in range(100):
        rates.owe("acme", Quota.READS, 1000)
    world.later(590)
    assert not admitted(world.rates(reads=10).charge, "acme", Quota.READS)
    world.later(20)

    assert admitted(world.rates(reads=10).charge, "acme", Quota.READS)


def test_many_processes_together_read_no_more_than_the_limit():
    """Each request reads 50 units, and is admitted while the bucket has a token."""
    world = World()
    processes = [world.rates(reads=100) for _ in range(10)]
    read = 0
    for _ in range(600):
        for process in processes:
            if admitted(process.charge, "acme", Quota.READS):
                process.owe("acme", Quota.READS, 49)
                read += 50
        world.later(0.1)

    assert 100 * 60 * 0.95 < read <= 100 * 62 + 50


def test_what_is_owed_to_a_store_that_is_down_is_forgiven():
    class Down(MemoryQuotas):
        def start(self, *_):
            raise StoreUnavailable("down")

    World(Down()).rates(reads=10).owe("acme", Quota.READS, 100)


def test_a_tenant_has_as_many_queues_as_its_quota_says():
    names = {"acme": ["a", "b"], "other": []}
    queues = Queues(lambda tenant, most: names[tenant][:most], limit=3)
    queues.admit("acme")
    names["acme"].append("c")

    assert admitted(queues.admit, "other")
    with pytest.raises(QuotaExceeded) as refused:
        queues.admit("acme")
    assert (refused.value.quota, refused.value.limit, refused.value.used) == ("queues", 3, 3)
    assert refused.value.retry_after is None
