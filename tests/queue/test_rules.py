"""The pure rules: positions, parts, owners, and transitions."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.queue import NewJob, Options, QueueKey
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.keys import PARTS_MAX, PartKey, job_key, part_of
from fanin.queue.rules.lifecycle import ClaimStatus
from fanin.queue.rules.members import Watch, overdue, owned, owners
from fanin.queue.rules.model import Dead, GivenBack, JobState, Member, Rerun

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


@pytest.mark.parametrize("priority", [-1, 1000, 1.5, True, "1"])
def test_a_priority_out_of_bounds_is_refused(priority):
    with pytest.raises(InvalidRequest):
        NewJob("a", priority=priority)


@pytest.mark.parametrize("more", [{"delay": -1}, {"delay": 1e9}, {"payload": "x" * 131_073}])
def test_a_job_out_of_bounds_is_refused(more):
    with pytest.raises(InvalidRequest):
        NewJob("a", **more)


@pytest.mark.parametrize("name", ["", "a#b", "a/b", "a b", "x" * 81, "-a", "ä"])
def test_a_queue_has_a_plain_name(name):
    with pytest.raises(InvalidRequest):
        QueueKey("t", name)


@pytest.mark.parametrize("name", ["", "x" * 2049, "\ud800"])
def test_a_job_has_a_name_of_bounded_text(name):
    with pytest.raises(InvalidRequest):
        job_key(QUEUE, 1, name)


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


def test_a_part_is_named_after_tenant_and_queue():
    assert str(PartKey(QUEUE, 255)) == "t#q#00ff"


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


def test_an_add_needs_a_free_key_or_the_done_job_that_it_saw():
    done = lifecycle.ended(busy(), 300)
    later = replace(done, generation=2)

    assert lifecycle.may_be_added(None, None)
    assert lifecycle.may_be_added(done, done)
    assert not lifecycle.may_be_added(done, None)
    assert not lifecycle.may_be_added(later, done)
    assert not lifecycle.may_be_added(None, done)
    assert not lifecycle.may_be_added(ready(), ready())


def test_a_claim_needs_the_ready_job_that_it_saw():
    seen = lifecycle.entry_of(ready())

    assert lifecycle.may_be_claimed(ready(), seen)
    assert not lifecycle.may_be_claimed(None, seen)
    assert not lifecycle.may_be_claimed(busy(), seen)
    assert not lifecycle.may_be_claimed(replace(ready(), deliveries=1), seen)
    assert not lifecycle.may_be_claimed(replace(ready(), id="other"), seen)


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


def test_the_status_of_a_claim_is_read_from_the_stored_job():
    job = busy("mine")
    done, other = lifecycle.ended(job, 300), lifecycle.ended(replace(job, claim="other"), 300)
    following = replace(lifecycle.new_job(NewJob("a"), job.key, "id2", 400, done), claim="c9")

    assert lifecycle.claim_status(job, job) is ClaimStatus.HELD
    assert lifecycle.claim_status(done, job) is ClaimStatus.ENDED
    assert lifecycle.claim_status(following, job) is ClaimStatus.ENDED
    assert lifecycle.claim_status(None, job) is ClaimStatus.LOST
    assert lifecycle.claim_status(other, job) is ClaimStatus.LOST
    assert lifecycle.claim_status(replace(job, claim="other"), job) is ClaimStatus.LOST
    assert lifecycle.claim_status(replace(following, done_by="other"), job) is ClaimStatus.LOST
    assert (
        lifecycle.claim_status(replace(following, done_by="other", generation=3), job) is ClaimStatus.UNKNOWN
    )
    assert lifecycle.claim_status(replace(other, generation=2, done_by="later"), job) is ClaimStatus.UNKNOWN


def test_the_requested_rerun_replaces_the_job_that_ended():
    asked = replace(busy(), rerun=Rerun("id2", 150, 7, "new"), collisions=4)
    after = lifecycle.ended(asked, 300)

    assert (after.id, after.state, after.payload, after.priority) == ("id2", JobState.READY, "new", 7)
    assert (after.collisions, after.generation, after.done_by) == (0, 2, "c")


def test_a_revived_job_has_its_old_position_and_no_failures():
    dead = Dead(replace(busy(), failures=3), "boom", 300)
    back = lifecycle.revived(dead, 400, lifecycle.ended(busy(), 300))

    assert (back.position, back.failures, back.generation, back.claim) == (ready().position, 0, 2, None)


@pytest.mark.parametrize(
    "more", [{"parts": 0}, {"parts": 257}, {"heartbeat": 3.0}, {"heartbeat": 0}, {"max_failures": 0}]
)
def test_options_out_of_bounds_are_refused(more):
    with pytest.raises(InvalidRequest):
        Options(**more)
