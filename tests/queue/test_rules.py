"""The pure rules: keys, positions, parts, owners, and each transition of a job as whole values."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.queue import Job, NewJob, QueueKey
from fanin.queue.dynamodb import items
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import PARTS_MAX, QUEUE_FORM, PartKey, job_key, part_of
from fanin.queue.rules.lifecycle import ClaimStatus
from fanin.queue.rules.model import (
    MARK_SECONDS,
    SECOND_US,
    Dead,
    EarlierJob,
    GivenBack,
    JobState,
    Member,
    PartLook,
    Rerun,
    digest_of,
)
from fanin.queue.rules.part_owners import (
    Watch,
    change_seconds,
    look_seconds,
    neighbours,
    overdue,
    owned,
    owners,
)
from fanin.queue.rules.taking import TakeRequest, new_job_of

QUEUE = QueueKey("t", "q")


MEMBER = Member("s1", True, 10_000_000, 5_000_000, "host", 1, 0)


IDS = st.sets(st.uuids().map(str), min_size=1, max_size=40)


def new_ready(**more):
    return lifecycle.new_job(NewJob("a", **more), job_key(QUEUE, 1, "a"), "id", 100, None)


@given(st.integers(0, 999), st.integers(0, 999), st.integers(0, 10**16 - 1), st.integers(0, 10**16 - 1))
def test_positions_sort_by_priority_then_by_time(p1, p2, t1, t2):
    assert (order.ready(p1, t1) < order.ready(p2, t2)) == ((-p1, t1) < (-p2, t2))


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


def test_a_session_is_suspected_when_its_heartbeat_stands_still_on_the_watchers_own_clock():
    watch, moved = Watch(), replace(MEMBER, heartbeats=1)
    for at, member in ((0.0, MEMBER), (4.0, MEMBER), (5.0, moved)):
        watch.observe([member], at)

        assert watch.suspects([member], at, now=10**15) == []
    watch.observe([moved], 9.4)

    assert watch.suspects([moved], 9.4, now=0) == []
    assert watch.suspects([moved], 9.6, now=0) == [moved]


def test_a_session_that_was_gone_and_is_there_again_is_a_new_one():
    watch = Watch()
    for at, members in ((0.0, [replace(MEMBER, heartbeats=3)]), (1.0, []), (100.0, [MEMBER])):
        watch.observe(members, at)

    assert watch.suspects([MEMBER], 100.0, now=0) == []


def test_a_session_without_a_heartbeat_is_over_by_the_clock_with_room_for_skew():
    visitor = replace(MEMBER, beats=False)
    watch = Watch()
    watch.observe([visitor], 0.0)

    assert watch.suspects([visitor], 100.0, now=12_000_000) == []
    assert watch.suspects([visitor], 100.0, now=12_000_001) == [visitor]
    assert overdue(MEMBER, 12_000_001)
    assert not overdue(MEMBER, 12_000_000)
    assert overdue(replace(MEMBER, live=False), 0)


def test_a_dead_session_without_a_heartbeat_is_left_to_the_worker_that_ended_it_for_a_while():
    watch, ended = Watch(), replace(MEMBER, beats=False, live=False)
    watch.observe([ended], 0.0)

    assert [watch.suspects([ended], at, now=0) for at in (1.0, 100.0)] == [[], [ended]]
    watch, ended = Watch(), replace(MEMBER, live=False)
    watch.observe([MEMBER], 0.0)
    watch.observe([ended], 4.4)
    assert [watch.suspects([ended], at, now=0) for at in (8.8, 9.0)] == [[], [ended]]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()), max_size=8))
def test_q10_times_and_failures_add_up_whatever_the_clocks_say(rounds):
    job, now, waited, worked, failures = new_ready(), 100, 0, 0, 0
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


JOB_KEY = job_key(QueueKey("t", "q"), 4, "a")


OTHER = job_key(QueueKey("t", "q"), 200, "a")


EARLIER = EarlierJob("before", 90)


FIRST = digest_of("first")


RERUN = Rerun("again", 170, 9, "new", "item-2")


BUSY = Job(
    key=JOB_KEY,
    name="a",
    id="first",
    state=JobState.BUSY,
    priority=5,
    added_us=100,
    ready_us=120,
    payload="old",
    item_id="item-1",
    generation=3,
    deliveries=4,
    failures=2,
    collisions=6,
    queued_us=70,
    busy_us=80,
    session="s",
    claim="c",
    claimed_us=150,
    rerun=RERUN,
    done_by="before",
    revival="r",
    before=(EARLIER,),
)
"""A busy job in which no two facts are alike."""


UNCLAIMED = {"session": None, "claim": None, "claimed_us": None}


ALONE = replace(BUSY, rerun=None)


DELAYED = replace(ALONE, state=JobState.DELAYED, ready_us=900, **UNCLAIMED)


DONE_JOB = replace(ALONE, state=JobState.DONE, payload=None, **UNCLAIMED, done_by="last", done_us=300)


@pytest.mark.parametrize(
    ("stored", "status"),
    [
        (None, "LOST"),
        (replace(BUSY, generation=2), "LOST"),
        (replace(BUSY, generation=2, done_by="c"), "LOST"),
        (BUSY, "HELD"),
        (replace(BUSY, claim="x"), "LOST"),
        (replace(DONE_JOB, done_by="c"), "ENDED"),
        (DONE_JOB, "LOST"),
        (replace(BUSY, generation=4, done_by="c", claim="x"), "ENDED"),
        (replace(BUSY, generation=4, claim="x"), "LOST"),
        (replace(DONE_JOB, generation=4), "UNKNOWN"),
        (replace(BUSY, generation=5, claim="x"), "UNKNOWN"),
    ],
)
def test_what_the_stored_job_says_of_a_claim(stored, status):
    assert lifecycle.claim_status(stored, BUSY) is ClaimStatus[status]


TENANTS = st.text("a#1:", min_size=1, max_size=8)


NAMES = st.from_regex(QUEUE_FORM, fullmatch=True)


@given(TENANTS, NAMES, st.integers(0, PARTS_MAX - 1))
def test_a_key_is_read_from_its_end_so_that_it_names_one_tenant_queue_and_part(tenant, name, number):
    key = str(PartKey(QueueKey(tenant, name), number))

    assert key.rsplit("#", 2) == [tenant, name, f"{number:04x}"]
    assert items.queue_of(items.config_item(QueueKey(tenant, name), QueueConfig(1))) == QueueKey(tenant, name)


@pytest.mark.parametrize("name", ["b#c", "#", "b#0001", "", "b\n", "-b", "b" * 81])
def test_a_queue_whose_name_could_be_a_part_of_another_key_is_refused(name):
    with pytest.raises(InvalidRequest, match="A-Z"):
        QueueKey("a", name)


def test_rows_of_different_kinds_lie_in_different_partitions():
    queue, tenant = QueueKey("t", "q"), QueueKey("t#q", "0001")
    kinds = (items.session_pk, lambda of: items.config_row(of)["pk"])
    partitions = [kind(of)["S"] for kind in kinds for of in (queue, tenant)]
    for kind in (items.part_pk, items.dead_pk, items.outbox_pk):
        partitions += [kind(PartKey(of, 1))["S"] for of in (queue, tenant)]

    assert len(set(partitions)) == 10


@pytest.mark.parametrize("number", [0, 3, 4, 9])
def test_a_job_knows_the_last_four_of_its_key_whose_marks_hold(number):
    asked, hour = NewJob("a"), 3_600_000_000
    earlier = tuple(EarlierJob(str(i), 300 - i) for i in range(number))
    over = replace(DONE_JOB, before=earlier)

    assert lifecycle.new_job(asked, JOB_KEY, "id", 500, over).before == (EarlierJob(FIRST, 300), *earlier)[:4]
    late = replace(over, done_us=hour + 298)
    assert lifecycle.new_job(asked, JOB_KEY, "id", 500, late).before[1:] == earlier[:2]
    undated = replace(over, done_us=None)
    assert lifecycle.new_job(asked, JOB_KEY, "id", 500, undated).before == earlier
    assert lifecycle.new_job(asked, JOB_KEY, "first", 500, over).before == ()


def test_a_moved_job_counts_the_generations_of_its_new_row():
    first = replace(DELAYED, key=OTHER, generation=1, done_by=None)

    assert lifecycle.moved(DELAYED, OTHER, None) == first
    over = lifecycle.moved(DELAYED, OTHER, replace(DONE_JOB, id="other"))
    earlier = (EarlierJob(digest_of("other"), 300), EARLIER)
    assert over == replace(first, generation=4, done_by="last", before=earlier)
    assert lifecycle.moved(DELAYED, OTHER, replace(DONE_JOB, before=())).before == DELAYED.before


@pytest.mark.parametrize(("at", "busy"), [(190, 40), (151, 1), (150, 0), (100, 0)])
@pytest.mark.parametrize("failed", [False, True])
def test_a_returned_job(at, busy, failed):
    facts = {"failures": 2 + failed, "busy_us": 80 + busy} | UNCLAIMED
    ready = replace(BUSY, state=JobState.READY, ready_us=at, **facts)
    delayed = replace(BUSY, state=JobState.DELAYED, ready_us=777, **facts)

    assert lifecycle.given_back(BUSY, GivenBack(at, failed)) == ready
    assert lifecycle.given_back(BUSY, GivenBack(at, failed, 777)) == delayed


def test_an_ended_job_leaves_its_mark_or_its_rerun():
    mark = replace(
        ALONE, state=JobState.DONE, payload=None, done_by="c", done_us=190, busy_us=120, **UNCLAIMED
    )
    rerun = Job(JOB_KEY, "a", "again", JobState.READY, 9, 170, 190, "new", "item-2", 4, done_by="c")
    rerun = replace(rerun, before=(EarlierJob(FIRST, 190), EARLIER))

    assert lifecycle.ended(ALONE, 190) == mark
    assert lifecycle.ended(BUSY, 190) == rerun


def test_a_revived_job():
    facts = {"ready_us": 400, "failures": 0, "rerun": None, "revival": "request"} | UNCLAIMED
    alone = replace(BUSY, state=JobState.READY, generation=4, done_by=None, **facts)
    over = replace(DONE_JOB, generation=6)

    assert lifecycle.revived(Dead(BUSY, "boom", 300), 400, None, "request") == alone
    after = lifecycle.revived(Dead(BUSY, "boom", 300), 400, over)
    assert after == replace(alone, generation=7, done_by="last", revival=None)


@pytest.mark.parametrize(
    ("sessions", "look", "change"), [(1, 0, 0), (24, 0, 0), (25, 5, 0.5), (1_000, 200, 20)]
)
def test_many_sessions_read_each_other_as_rarely_as_they_are_many(sessions, look, change):
    assert look_seconds(sessions) == pytest.approx(look)
    assert change_seconds(sessions) == pytest.approx(change)
    assert len(neighbours([f"{number:04}" for number in range(sessions)], "0000")) == min(sessions - 1, 2)


def test_only_live_sessions_with_heartbeats_own_parts():
    assert owners([MEMBER, replace(MEMBER, id="s2", live=False), replace(MEMBER, id="s3", beats=False)]) == [
        "s1"
    ]


def test_a_job_that_ended_within_the_hour_is_known_to_a_repeated_add():
    end = DONE_JOB.done_us + MARK_SECONDS * SECOND_US

    assert DONE_JOB.answers(DONE_JOB.id, end - 1)
    assert not DONE_JOB.answers(DONE_JOB.id, end)


def test_the_head_of_a_part_is_its_first_job_if_that_is_ready():
    ready, busy = (lifecycle.entry_of(job) for job in (new_ready(), BUSY))

    assert PartLook((ready, busy), (), complete=True).head == ready
    assert [PartLook(first, (), complete=True).head for first in ((), (busy, ready))] == [None, None]


def test_no_job_is_claimed_or_removed_where_none_is_stored():
    assert not lifecycle.may_be_claimed(None, lifecycle.entry_of(new_ready()))
    assert not lifecycle.is_unchanged(None, BUSY)


def test_a_new_job_is_due_after_its_delay_and_shown_and_compared_by_its_arguments():
    job = NewJob("a", [1])

    assert new_ready(delay=5).ready_us == 5_000_100
    assert (job, hash(job)) == (NewJob("a", [1.0]), hash(NewJob("a", [2])))
    assert "text" not in repr(job)
    with pytest.raises(TypeError):
        NewJob("a", payload_text="1")
    with pytest.raises(InvalidRequest, match="its own payload"):
        new_job_of(job, 1)


@pytest.mark.parametrize("parts", [0, PARTS_MAX + 1])
def test_a_config_with_another_number_of_parts_than_1_to_256_is_refused(parts):
    with pytest.raises(InvalidRequest, match="1 to 256 parts"):
        QueueConfig(parts)


def test_a_take_names_its_parts_by_anything_that_yields_them():
    assert TakeRequest(parts=iter([255, 0])).parts == (255, 0)
    assert TakeRequest().most == 1
