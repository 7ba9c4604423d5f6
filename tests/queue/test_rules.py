"""The pure rules: positions, parts, owners, and transitions."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.queue import NewJob, QueueKey
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.keys import PARTS_MAX, job_key, part_of
from fanin.queue.rules.members import Watch, overdue, owned, owners
from fanin.queue.rules.model import GivenBack, Member

QUEUE = QueueKey("t", "q")
MEMBER = Member("s1", True, 10_000_000, 5_000_000, "host", 1, 0)
IDS = st.sets(st.uuids().map(str), min_size=1, max_size=40)


def ready(**more):
    return lifecycle.new_job(NewJob("a", **more), job_key(QUEUE, 1, "a"), "id", 100, None)


def busy(claim="c", at=200):
    return lifecycle.claimed(ready(), "s", claim, at)


@given(st.integers(0, 999), st.integers(0, 999), st.integers(0, 10**16 - 1), st.integers(0, 10**16 - 1))
def test_positions_sort_by_priority_then_by_time(p1, p2, t1, t2):
    assert (order.ready(p1, t1) < order.ready(p2, t2)) == ((-p1, t1) < (-p2, t2))


def test_the_states_lie_apart_in_the_index():
    places = [order.ready(0, 10**16 - 1), order.busy("z", 1), order.delayed(0), order.dead(0)]

    assert places == sorted(places)
    assert order.busy("s", 1).startswith(order.busy_of("s"))
    assert not order.busy("s10", 1).startswith(order.busy_of("s1"))


@pytest.mark.parametrize("name", ["x" * 2048, "é" * 1024])
def test_a_name_of_2048_bytes_is_the_longest(name):
    assert job_key(QUEUE, 1, name).sort.startswith("h#")
    with pytest.raises(InvalidRequest, match="1 to 2048 bytes"):
        job_key(QUEUE, 1, name + "x")


def test_a_name_of_up_to_512_bytes_is_its_row_as_each_release_finds_it():
    assert job_key(QUEUE, 1, "é" * 256).sort == "k#" + "é" * 256
    assert job_key(QUEUE, 1, "é" * 256 + "x").sort.startswith("h#")


def test_a_long_name_is_known_by_its_hash_and_never_by_another_name():
    long = job_key(QUEUE, 1, "x" * 600)

    assert len(long.sort) == 66
    assert job_key(QUEUE, 1, long.sort).sort != long.sort


@given(st.binary(max_size=50), st.integers(1, PARTS_MAX))
def test_a_name_falls_into_one_of_the_parts(name, parts):
    assert 0 <= part_of(name, parts) < parts


def test_parts_are_found_where_only_approved_hashes_may_secure_anything(monkeypatch):
    """In FIPS mode SHA-1 is refused, unless it is said not to be used for security."""
    sha1, before = hashlib.sha1, part_of(b"name", 8)

    def approved(data, *, usedforsecurity=True):
        assert not usedforsecurity
        return sha1(data, usedforsecurity=False)

    monkeypatch.setattr(hashlib, "sha1", approved)

    assert part_of(b"name", 8) == before


@given(IDS, st.integers(1, PARTS_MAX))
def test_24_q11_the_parts_of_all_sessions_cover_each_part_once(ids, parts):
    sessions = list(ids)

    assert sorted(part for me in ids for part in owned(parts, sessions, me)) == list(range(parts))


def test_24_two_and_three_sessions_share_eight_parts_as_the_article_has_it():
    assert [list(owned(8, ["b", "a"], me)) for me in "ab"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [list(owned(8, ["c", "a", "b"], me)) for me in "abc"] == [[0, 1], [2, 3, 4], [5, 6, 7]]
    assert list(owned(8, ["a"], "unknown")) == []


def test_24_only_live_sessions_with_a_heartbeat_own_parts():
    members = [MEMBER, replace(MEMBER, id="s2", beats=False), replace(MEMBER, id="s3", live=False)]

    assert owners(members) == ["s1"]


def test_a_session_is_suspected_when_its_heartbeat_stands_still_on_the_watchers_own_clock():
    watch, moved = Watch(), replace(MEMBER, heartbeats=1)
    for at, member in ((0.0, MEMBER), (4.0, MEMBER), (5.0, moved)):
        watch.observe([member], at)

        assert watch.suspects([member], at, now=10**15) == []
    watch.observe([moved], 9.4)

    assert watch.suspects([moved], 9.4, now=0) == []
    assert watch.suspects([moved], 9.6, now=0) == [moved]


def test_a_dead_session_that_was_not_deleted_is_taken_over():
    watch, dead = Watch(), replace(MEMBER, live=False)
    watch.observe([MEMBER], 0.0)
    watch.observe([dead], 4.0)

    assert watch.suspects([dead], 5.0, now=0) == []
    assert watch.suspects([dead], 8.6, now=0) == [dead]


def test_a_session_without_a_heartbeat_is_over_by_the_clock_with_room_for_skew():
    visitor = replace(MEMBER, beats=False)
    watch = Watch()
    watch.observe([visitor], 0.0)

    assert watch.suspects([visitor], 100.0, now=12_000_000) == []
    assert watch.suspects([visitor], 100.0, now=12_000_001) == [visitor]
    assert overdue(MEMBER, 12_000_001)
    assert not overdue(MEMBER, 12_000_000)
    assert overdue(replace(MEMBER, live=False), 0)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()), max_size=8))
def test_q10_times_and_failures_add_up_whatever_the_clocks_say(rounds):
    job, now, waited, worked, failures = ready(), 100, 0, 0, 0
    for wait, work, failed in rounds:
        job = lifecycle.claimed(job, "s", "c", now + wait)
        job = lifecycle.given_back(job, GivenBack(now + wait + work, failed))
        now, waited, worked, failures = now + wait + work, waited + wait, worked + work, failures + failed

    assert (job.queued_us, job.busy_us, job.failures, job.deliveries) == (
        waited,
        worked,
        failures,
        len(rounds),
    )
    assert lifecycle.claimed(job, "s", "c", job.ready_us - 99).queued_us == job.queued_us
