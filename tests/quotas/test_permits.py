"""The live batches of a tenant: never more than the limit, and no permit is lost."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from fanin.errors import QuotaExceeded, StoreUnavailable
from fanin.quotas.dynamodb import DynamoQuotas
from fanin.quotas.memory import MemoryQuotas
from tests.contract import moto_clients
from tests.contract.tables import create_tables
from tests.quotas.world import World, admitted


def live(world: World) -> int:
    return sum(world.batches.values())


def test_a_refusal_names_the_quota_its_limit_and_the_use_and_no_time():
    world = World()
    permits = world.permits(2)
    for name in "ab":
        world.opened(permits, name)

    with pytest.raises(QuotaExceeded) as refused:
        permits.admit("acme", "c")

    error = refused.value
    assert (error.quota, error.limit, error.used, error.retry_after) == ("openBatches", 2, 2, None)


def test_a_batch_that_has_ended_frees_its_place_without_a_request():
    world = World()
    for name in "ab":
        world.opened(world.permits(2), name)
    world.batches["a"] = False

    assert world.opened(world.permits(2), "c")
    assert not world.opened(world.permits(2), "d")


def test_a_place_whose_batch_was_never_stored_is_free_after_a_minute():
    world = World()
    world.permits(1).admit("acme", "crashed")
    world.later(59)
    assert not admitted(world.permits(1).admit, "acme", "next")
    world.later(1)

    assert admitted(world.permits(1).admit, "acme", "next")


def test_other_tenants_are_unaffected():
    world = World()
    permits = world.permits(1)
    world.opened(permits, "a")

    assert not world.opened(permits, "b")
    assert world.opened(permits, "c", tenant="other")


def test_a_refused_tenant_makes_no_request_for_a_second():
    class Counting(MemoryQuotas):
        looked = 0

        def permit(self, key):
            self.looked += 1
            return MemoryQuotas.permit(self, key)

    store = Counting()
    world = World(store)
    permits = world.permits(1)
    world.opened(permits, "a")
    refused = [world.opened(permits, "b") for _ in range(100)]
    looked = store.looked
    world.batches["a"] = False
    world.later(1)

    assert (any(refused), looked) == (False, 2)
    assert world.opened(permits, "c")


def test_a_tenant_far_below_a_large_limit_opens_at_once_and_at_the_limit_is_refused():
    world = World()
    permits = world.permits(200)
    opened = sum(world.opened(world.permits(200), f"b{number}") for number in range(190))

    assert opened == 190
    for number in range(5000):
        world.opened(world.permits(200), f"c{number}")
    assert live(world) == 200
    assert not world.opened(permits, "one more")


class Lossy(MemoryQuotas):
    """Loses requests, and answers to requests that were applied."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance

    def take(self, *given):
        before = self.chance.random()
        if before < 0.2:
            raise StoreUnavailable("lost")
        taken = super().take(*given)
        if before < 0.4:
            raise StoreUnavailable("applied")
        return taken


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_no_schedule_of_opens_ends_crashes_and_lost_answers_exceeds_or_leaks_the_limit(
    limit: int, chance: random.Random
):
    """A crash takes a permit, and stores no batch. Everything that is lost is free after a minute."""
    world = World(Lossy(chance))
    for step in range(60):
        act = chance.choice(("open", "open", "crash", "end", "later"))
        try:
            if act == "open":
                world.opened(world.permits(limit), f"b{step}")
            elif act == "crash":
                admitted(world.permits(limit).admit, "acme", f"b{step}")
        except StoreUnavailable:
            pass
        if act == "end" and world.batches:
            world.batches[chance.choice(sorted(world.batches))] = False
        world.later(chance.randrange(20) if act == "later" else 0)
        assert live(world) <= limit
    world.later(60)
    world.batches.clear()
    world.store.chance = random.Random(0)
    calm = World(MemoryQuotas(permits=world.store.permits), at=world.at)

    assert sum(calm.opened(calm.permits(limit), f"n{number}") for number in range(2 * limit)) == limit


def test_threads_together_open_as_many_as_the_limit():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        world = World(DynamoQuotas(client, "Batches"))
        with ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(world.opened, world.permits(6), f"b{number}") for number in range(16)]
            admitted = sum(run.result() for run in runs)

    assert admitted == 6
