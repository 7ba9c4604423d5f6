"""Each transition of a job as whole values: what it changes, and that it changes nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest
from fanin.queue import Job, NewJob, Options, QueueKey
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.lifecycle import ClaimStatus
from fanin.queue.rules.model import (
    MARK_SECONDS,
    Dead,
    EarlierJob,
    GivenBack,
    JobState,
    OutboxEntry,
    Rerun,
    digest_of,
)
from tests.item_ids import item_named

KEY = job_key(QueueKey("t", "q"), 4, "a")
OTHER = job_key(QueueKey("t", "q"), 200, "a")
EARLIER = EarlierJob("before", 90)
FIRST = digest_of("first")
RERUN = Rerun("again", 170, 9, "new", "item-2")
BUSY = Job(
    key=KEY,
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
READY = replace(ALONE, state=JobState.READY, **UNCLAIMED)
DELAYED = replace(READY, state=JobState.DELAYED, ready_us=900)
DONE = replace(ALONE, state=JobState.DONE, payload=None, **UNCLAIMED, done_by="last", done_us=300)


@pytest.mark.parametrize(
    ("delay", "state", "ready_us"), [(0, "ready", 500), (2.5, "delayed", 2_500_500), (1e-6, "delayed", 501)]
)
def test_a_new_job(delay, state, ready_us):
    item = item_named("a")
    asked = NewJob("a", "text", 7, delay, item)
    made = lifecycle.new_job(asked, KEY, "id", 500, DONE)
    expected = Job(KEY, "a", "id", JobState(state), 7, 500, ready_us, "text", item, 4, done_by="last")
    first = replace(expected, generation=1, done_by=None)

    assert made == replace(expected, before=(EarlierJob(FIRST, 300), EARLIER))
    assert lifecycle.new_job(asked, KEY, "id", 500, None) == first


@pytest.mark.parametrize("number", [0, 3, 4, 9])
def test_a_job_knows_the_last_four_of_its_key_whose_marks_hold(number):
    asked, hour = NewJob("a"), 3_600_000_000
    earlier = tuple(EarlierJob(str(i), 300 - i) for i in range(number))
    over = replace(DONE, before=earlier)

    assert lifecycle.new_job(asked, KEY, "id", 500, over).before == (EarlierJob(FIRST, 300), *earlier)[:4]
    late = replace(over, done_us=hour + 298)
    assert lifecycle.new_job(asked, KEY, "id", 500, late).before[1:] == earlier[:2]
    undated = replace(over, done_us=None)
    assert lifecycle.new_job(asked, KEY, "id", 500, undated).before == earlier
    assert lifecycle.new_job(asked, KEY, "first", 500, over).before == ()


@pytest.mark.parametrize(
    ("job", "job_id", "until"),
    [
        (BUSY, "first", None),
        (BUSY, "again", None),
        (BUSY, "old", 250),
        (DONE, "first", 300),
        (DONE, "old", 250),
        (BUSY, "never", 0),
    ],
)
def test_a_repeated_add_is_that_of_the_job_its_rerun_or_an_earlier_job(job, job_id, until):
    job, hour = replace(job, before=(EARLIER, EarlierJob(digest_of("old"), 250))), 3_600_000_000

    assert job.answers(job_id, 0) is (until != 0)
    assert until is None or job.answers(job_id, until + hour - 1) is (until != 0)
    assert job.answers(job_id, (until or 0) + hour) is (until is None)


def test_the_end_of_a_job_with_an_item_is_an_outbox_entry():
    ending, part = f"c#{KEY.sort}", KEY.part.number

    assert lifecycle.outbox_entry(BUSY, None) == OutboxEntry("first", "item-1", False, None, ending, part)
    dead = lifecycle.outbox_entry(BUSY, Dead(BUSY, "boom", 300))
    assert dead == OutboxEntry("first", "item-1", True, "boom", ending, part)
    assert lifecycle.outbox_entry(replace(BUSY, item_id=None), None) is None


def test_the_removal_of_a_live_job_fails_its_item_and_that_of_its_rerun():
    part = KEY.part.number
    first = OutboxEntry("first", "item-1", True, "gone", f"removed-100-3-0#{KEY.sort}", part)
    second = OutboxEntry("again", "item-2", True, "gone", f"removed-100-3-1#{KEY.sort}", part)

    assert lifecycle.removal_entries(BUSY, "gone") == [first, second]
    assert lifecycle.removal_entries(replace(BUSY, item_id=None), "gone") == [second]
    assert lifecycle.removal_entries(READY, "gone") == [first]
    assert lifecycle.removal_entries(replace(READY, item_id=None), "gone") == []
    assert lifecycle.removal_entries(DONE, "gone") == []


def test_the_mark_of_a_deleted_job_and_of_one_that_was_moved():
    mark = replace(DELAYED, state=JobState.DONE, payload=None, done_us=950)

    assert lifecycle.deleted(replace(DELAYED, rerun=RERUN), 950, "request") == replace(
        mark, done_by="request"
    )
    assert lifecycle.left_behind(replace(DELAYED, rerun=RERUN), 950) == mark


def test_a_moved_job_counts_the_generations_of_its_new_row():
    first = replace(DELAYED, key=OTHER, generation=1, done_by=None)

    assert lifecycle.moved(DELAYED, OTHER, None) == first
    over = lifecycle.moved(DELAYED, OTHER, replace(DONE, id="other"))
    earlier = (EarlierJob(digest_of("other"), 300), EARLIER)
    assert over == replace(first, generation=4, done_by="last", before=earlier)
    assert lifecycle.moved(DELAYED, OTHER, replace(DONE, before=())).before == DELAYED.before


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
    rerun = Job(KEY, "a", "again", JobState.READY, 9, 170, 190, "new", "item-2", 4, done_by="c")
    rerun = replace(rerun, before=(EarlierJob(FIRST, 190), EARLIER))

    assert lifecycle.ended(ALONE, 190) == mark
    assert lifecycle.ended(BUSY, 190) == rerun


def test_a_revived_job():
    facts = {"ready_us": 400, "failures": 0, "rerun": None, "revival": "request"} | UNCLAIMED
    alone = replace(BUSY, state=JobState.READY, generation=4, done_by=None, **facts)
    over = replace(DONE, generation=6)

    assert lifecycle.revived(Dead(BUSY, "boom", 300), 400, None, "request") == alone
    after = lifecycle.revived(Dead(BUSY, "boom", 300), 400, over)
    assert after == replace(alone, generation=7, done_by="last", revival=None)


@pytest.mark.parametrize(
    ("stored", "status"),
    [
        (None, "LOST"),
        (replace(BUSY, generation=2), "LOST"),
        (replace(BUSY, generation=2, done_by="c"), "LOST"),
        (BUSY, "HELD"),
        (replace(BUSY, claim="x"), "LOST"),
        (replace(DONE, done_by="c"), "ENDED"),
        (DONE, "LOST"),
        (replace(BUSY, generation=4, done_by="c", claim="x"), "ENDED"),
        (replace(BUSY, generation=4, claim="x"), "LOST"),
        (replace(DONE, generation=4), "UNKNOWN"),
        (replace(BUSY, generation=5, claim="x"), "UNKNOWN"),
    ],
)
def test_what_the_stored_job_says_of_a_claim(stored, status):
    assert lifecycle.claim_status(stored, BUSY) is ClaimStatus[status]


def test_a_mark_holds_for_an_hour():
    end = 300 + 3_600_000_000

    assert not DONE.expired(end - 1)
    assert DONE.expired(end)
    assert not replace(DONE, done_us=None).expired(10**18)
    assert MARK_SECONDS == 3600


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ({"parts": 1}, {"parts": 0}),
        ({"parts": 256}, {"parts": 257}),
        ({"heartbeat": 2.5}, {"heartbeat": 2.501}),
        ({"heartbeat": 0.001}, {"heartbeat": 0}),
        ({"max_failures": 1}, {"max_failures": 0}),
        ({"retry_delay": 366 * 86_400}, {"retry_delay": 366 * 86_400 + 1}),
    ],
)
def test_options_are_accepted_up_to_their_bounds(accepted, refused):
    Options(**accepted)
    with pytest.raises(InvalidRequest):
        Options(**refused)
