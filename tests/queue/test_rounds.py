"""The rounds of the scheduled sweep: no tenant and no queue keeps the others from their visits."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from fanin.queue import QueueKey
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.maintenance.rounds import IDLE_SECONDS, LOOKED_UP, Listed, Rounds
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import SECOND_US, Accuracy, Depth

EMPTY = Depth(0, 0, 0, 0, 0)
MINUTE = 60.0
IN_USE, IDLE = QueueConfig(8), QueueConfig(8, idle_us=1)
REMOVING = QueueConfig(8, removing_us=1)


@dataclass
class World:
    """The queues of all tenants, the last visit of each, and the time, in seconds.

    *slow*: the seconds that a visit takes where it is not one. *broken*: queues whose visits fail.
    """

    queues: dict[QueueKey, QueueConfig]
    slow: dict[str, float] = field(default_factory=dict)
    broken: set[QueueKey] = field(default_factory=set)
    at: float = 1e9
    last: dict[QueueKey, CountedDepth] = field(default_factory=dict)
    visits: Counter[QueueKey] = field(default_factory=Counter)
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def now(self) -> int:
        return round(self.at * SECOND_US)

    def look_up(self, queues):
        return [Listed(queue, self.queues[queue], self.last.get(queue)) for queue in queues]

    def rounds(self):
        rounds = Rounds(self.look_up, self.now, lambda: self.at, self.chance.random)
        return rounds.of(self.look_up(self.queues))

    def visit(self, listed: Listed) -> None:
        self.at += self.slow.get(listed.queue.tenant, 1.0)
        self.visits[listed.queue] += 1
        if listed.queue not in self.broken:
            self.last[listed.queue] = CountedDepth(EMPTY, self.now(), self.now())

    def run(self, seconds: float) -> list[QueueKey]:
        """One run of the sweep, which visits queues for so long; what it visited, in order."""
        until, visited = self.at + seconds, []
        for listed in self.rounds():
            if self.at >= until:
                break
            self.visit(listed)
            visited.append(listed.queue)
        return visited


def queues_of(tenant: str, number: int, config: QueueConfig = IN_USE) -> dict[QueueKey, QueueConfig]:
    return {QueueKey(tenant, f"q{i}"): config for i in range(number)}


@pytest.mark.parametrize("seconds_a_visit", [1.0, 10.0])
def test_a_tenant_with_many_or_slow_queues_leaves_the_others_their_visit_in_each_minute(seconds_a_visit):
    others = {key: config for n in range(20) for key, config in queues_of(f"small {n}", 1).items()}
    world = World(queues_of("big", 3000) | others, slow={"big": seconds_a_visit})
    for _ in range(10):
        began = world.at
        visited = world.run(MINUTE)

        assert others.keys() <= set(visited)
        world.at = began + MINUTE
    assert sum(count for queue, count in world.visits.items() if queue.tenant == "big") > 10


def test_each_queue_of_a_tenant_with_too_many_has_its_turn_in_bounded_time():
    world = World(queues_of("big", 400))
    visited: list[set[QueueKey]] = []
    while set().union(*visited) != world.queues.keys():
        began = world.at
        visited.append(set(world.run(40.0)))
        world.at = began + MINUTE

    assert len(visited) <= 2 * 400 / 40


def test_a_tenant_whose_visits_are_slow_takes_no_more_than_its_share_of_the_time():
    world = World(queues_of("slow", 50) | queues_of("quick", 50), slow={"slow": 20.0})
    visited = world.run(60.0)

    assert sum(queue.tenant == "slow" for queue in visited) == 2
    assert sum(queue.tenant == "quick" for queue in visited) >= 20


def test_queues_whose_visits_fail_do_not_delay_the_others_for_ever():
    queues = queues_of("big", 300)
    broken, others = list(queues)[:200], list(queues)[200:]
    world = World(queues, broken=set(broken))
    for _ in range(250):
        began = world.at
        world.run(20.0)
        world.at = began + MINUTE

    assert all(world.visits[queue] > 1 for queue in others)


def test_two_runs_that_overlap_visit_different_queues():
    world = World(queues_of("big", 500) | queues_of("other", 100))
    one, two = world.rounds(), world.rounds()
    for _ in range(250):
        for run in (one, two):
            world.visit(next(run))

    assert len(world.visits) > 0.85 * 500


@pytest.mark.parametrize(
    ("config", "seconds", "is_due"),
    [
        (IN_USE, 55, True),
        (IN_USE, 5, False),
        (IN_USE, 0, False),
        (IDLE, 240, False),
        (IDLE, 300, True),
        (REMOVING, 5, True),
        (replace(REMOVING, idle_us=1), 5, True),
        (None, 5, True),
    ],
)
def test_a_queue_is_visited_each_minute_while_it_is_in_use_and_each_five_while_it_is_idle(
    config, seconds, is_due
):
    now = 10**15
    counted = CountedDepth(EMPTY, now - seconds * SECOND_US, now)

    assert Listed(QueueKey("t", "q"), config, counted).is_due(now) is is_due
    assert Listed(QueueKey("t", "q"), config, None).is_due(now)


def test_a_time_in_the_future_which_a_wrong_clock_wrote_delays_no_visit():
    now = 10**15
    counted = CountedDepth(EMPTY, now + 1, now + 1)

    assert Listed(QueueKey("t", "q"), IDLE, counted).is_due(now)
    assert Listed(QueueKey("t", "q"), IDLE, counted).known_dead(now) is None


def test_dead_jobs_are_counted_at_every_fifth_visit_and_where_their_number_is_an_estimate():
    world = World(queues_of("t", 1))
    (queue,) = world.queues
    counted = []
    for minute in range(11):
        now = world.now() + minute * 60 * SECOND_US
        listed = Listed(queue, IN_USE, world.last.get(queue))
        dead = listed.known_dead(now)
        counted.append(dead is None)
        world.last[queue] = listed.visited(replace(EMPTY, dead=7), dead, now)

        assert dead in (None, 7)
    assert counted == [True, *[False] * 4] * 2 + [True]
    rough = replace(EMPTY, dead=7, accuracy=Accuracy.AT_LEAST)
    assert Listed(queue, IN_USE, CountedDepth(rough, now, now)).known_dead(now) is None


def test_the_last_visits_are_read_again_for_few_queues_at_a_time():
    asked = []
    world = World(queues_of("a", 40) | queues_of("b", 2) | queues_of("c", 1))
    rounds = Rounds(
        lambda keys: asked.append(keys) or world.look_up(keys), world.now, lambda: world.at, random.random
    )
    for listed in rounds.of(world.look_up(world.queues)):
        world.visit(listed)

    assert Counter(key for keys in asked for key in keys) == Counter(list(world.queues))
    assert max(map(len, asked)) <= LOOKED_UP
    assert len(asked) <= 7
    assert IDLE_SECONDS < 300


def test_of_many_tenants_one_queue_each_is_looked_up_before_its_visit():
    tenants, asked, world = 3 * LOOKED_UP, set(), World({})
    for number in range(tenants):
        world.queues |= queues_of(f"t{number}", 9)
    rounds = Rounds(
        lambda keys: asked.update(keys) or world.look_up(keys), world.now, lambda: world.at, random.random
    )
    for listed in rounds.of(world.look_up(world.queues)):
        assert len(asked - world.visits.keys()) <= tenants
        world.visit(listed)
