"""When a worker reads which sessions and the config: by the size of its group, changes and heartbeats."""

from __future__ import annotations

import pytest

from fanin.queue.upkeep.maintenance import Maintenance
from fanin.queue.working.session import enter
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY

ALL, TWO, CONFIG = "members", "peek", "peek_config"


class Group:
    """So many sessions that write heartbeats, except the *silent* ones, and the watch of the first one.

    In a group of 50 sessions, all are read every 10 s, and a second after the last read for a change.
    """

    def __init__(self, sessions, **options):
        self.bench = Bench(**options)
        self.sessions = [self.bench.session, *(enter(self.bench.context, None) for _ in range(sessions - 1))]
        self.silent = []
        self.watching = Maintenance(self.bench.context, self.bench.session).watching
        self.watching.read_all()

    def read_at(self, seconds):
        """Return the requests of a look at this time."""
        self.bench.time.passed = round(seconds * 1_000_000)
        for session in self.sessions:
            if session not in self.silent:
                session.beat()
        self.bench.forget()
        self.watching.look()
        return self.bench.store.names()

    def reads_all_at(self, *times):
        """Return those of *times* at which a look reads all sessions."""
        return [at for at in times if ALL in self.read_at(at)]

    def drop(self, number):
        """Delete the row of a session that was ended, whose change was not counted."""
        del self.bench.store.real.sessions[KEY][self.sessions.pop(number).id]


def test_a_large_group_without_a_change_is_read_whole_at_its_interval():
    assert Group(50).reads_all_at(*(step / 2 for step in range(1, 51))) == [10.0, 20.0]


@pytest.mark.parametrize(("sessions", "read"), [(24, None), (25, 2)])
def test_up_to_24_sessions_are_looked_at_by_one_query_and_of_more_two(sessions, read):
    group = Group(sessions)

    assert group.read_at(0.5) == [TWO]
    ((_, ids),) = group.bench.store.of(TWO)
    assert (ids and len(ids)) == read


def test_a_counted_change_is_read_once_the_interval_of_changes_has_passed():
    group = Group(50)
    group.sessions.pop(20).end()

    assert group.read_at(0.9) == [CONFIG, TWO]
    assert group.read_at(1.0) == [CONFIG, ALL]
    assert len(group.watching.members) == 49


def test_a_change_that_was_not_counted_is_seen_in_a_small_group():
    group = Group(5)
    group.drop(3)

    assert group.reads_all_at(0.5, 1.0) == [0.5]
    assert len(group.watching.members) == 4


def test_a_difference_that_one_look_saw_is_read_although_the_next_does_not_see_it():
    """A look may read an older copy of a row."""
    group = Group(50)
    group.bench.store.scripts[TWO] = lambda *_: []
    assert group.read_at(0.5) == [TWO]
    del group.bench.store.scripts[TWO]

    assert group.reads_all_at(1.0, 1.5) == [1.0]


def test_while_one_neighbour_misses_heartbeats_all_are_read_for_one_expiry():
    group = Group(50)
    group.silent = group.sessions[1:2]
    assert group.reads_all_at(0.5, 1.0, 1.5, 2.0, 2.5) == [2.5]
    group.silent = []

    assert group.reads_all_at(*(step / 2 for step in range(6, 18))) == [step / 2 for step in range(6, 15)]


def test_the_config_is_looked_at_after_nine_tenths_of_a_heartbeat():
    """A worker looks twice a heartbeat, up to a tenth early."""
    group = Group(2, heartbeat=10, expiry=20)

    assert [at for at in (8.5, 9.0, 17.5, 18.0) if CONFIG in group.read_at(at)] == [9.0, 18.0]
