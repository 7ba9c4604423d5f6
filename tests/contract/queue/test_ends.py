"""A job ends once, with the user's writes, and leaves its outbox entry; a dead one is read as it died."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import StaleWrite
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import JobKey, PartKey, job_key
from fanin.queue.rules.lifecycle import ClaimStatus
from fanin.queue.rules.model import (
    Dead,
    GivenBack,
    JobState,
    NewJob,
    OutboxEntry,
    Rerun,
)
from tests.contract.queue.calls import (
    LATER,
    NOW,
    OTHER,
    PART,
    QUEUE,
    death_of,
    done_job,
    drop_mark,
    head,
    new,
    taken,
    taken_again,
)
from tests.contract.queue_table import QUEUE_TABLE
from tests.item_ids import item_named

PUT = {"Put": {"TableName": QUEUE_TABLE, "Item": {"pk": {"S": "user"}, "sk": {"S": "outcome"}}}}


# As the demo's consumer, and a benchmark, write beside an ack.
OTHERS = {"pk": {"S": "user"}, "sk": {"S": "other"}}
FIRST = {"Put": {"TableName": QUEUE_TABLE, "Item": OTHERS, "ConditionExpression": "attribute_not_exists(pk)"}}
COUNTED = {
    "Update": {
        "TableName": QUEUE_TABLE,
        "Key": OTHERS,
        "UpdateExpression": "ADD times :one, workers :me",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":me": {"SS": ["me"]}},
    }
}
GUARDED = {"Put": PUT["Put"] | {"ConditionExpression": "attribute_exists(pk)"}}


def outcomes(store) -> int:
    """How often the user's write is there."""
    if isinstance(store, MemoryStore):
        return len(store.written)
    key = {"pk": {"S": "user"}, "sk": {"S": "outcome"}}
    return len(store.client.get_item(TableName=QUEUE_TABLE, Key=key).keys() & {"Item"})


def test_an_ended_job_is_in_no_listing_and_keeps_its_metrics(store):
    mark = done_job(store)

    assert [store.count(PART, state, 100) for state in (JobState.READY, JobState.BUSY, JobState.DELAYED)] == [
        0
    ] * 3
    assert store.outstanding(PART, LATER) == []
    assert (mark.deliveries, mark.queued_us, mark.busy_us) == (1, LATER - NOW, 0)


def test_an_end_that_is_repeated_is_recognised(store):
    job = taken(store)
    store.end(job, LATER, [PUT])
    again = store.end(job, LATER + 1, [PUT])

    assert lifecycle.claim_status(again, job) is ClaimStatus.ENDED
    assert outcomes(store) == 1


def test_an_end_under_a_lost_claim_writes_nothing(store):
    job = taken(store)
    store.give_back(lifecycle.entry_of(job), GivenBack(LATER))
    other = store.claim(head(store), "s2", "c2", LATER)

    for writes in ([PUT], []):
        assert lifecycle.claim_status(store.end(job, LATER, writes), job) is ClaimStatus.LOST
    assert store.get(job.key) == other
    assert outcomes(store) == 0


def test_an_end_where_nothing_is_stored_creates_nothing(store):
    job = replace(new("a"), state=JobState.BUSY, session="s", claim="c", claimed_us=NOW)

    assert store.end(job, LATER) is None
    assert store.end(job, LATER, [PUT]) is None
    assert store.get(job.key) is None
    assert outcomes(store) == 0


@pytest.mark.parametrize("item_id", [None, item_named("i")])
@pytest.mark.parametrize("writes", [[FIRST], [COUNTED], [PUT, FIRST]])
def test_an_end_and_each_kind_of_a_users_writes_happen_together(store, writes, item_id):
    mark = store.end(taken(store, item_id=item_id), LATER, writes)

    assert mark.state is JobState.DONE
    if isinstance(store, MemoryStore):
        assert store.written == writes
    else:
        assert outcomes(store) == (PUT in writes)
        assert "Item" in store.client.get_item(TableName=QUEUE_TABLE, Key=OTHERS)


def test_a_users_condition_that_fails_leaves_the_claim(store):
    job = taken(store)

    with pytest.raises(StaleWrite):
        store.end(job, LATER, [GUARDED])
    assert store.get(job.key) == job
    assert outcomes(store) == 0


def test_a_dead_job_leaves_its_key_and_is_listed_by_its_death(store):
    for name, died in (("a", LATER + 2), ("b", LATER + 1)):
        job = taken(store, name=name)
        store.end(job, LATER, dead=Dead(job, "boom", died))
    found = store.dead(PART, 10)

    assert [(dead.job.name, dead.error, dead.died_us) for dead in found] == [
        ("b", "boom", LATER + 1),
        ("a", "boom", LATER + 2),
    ]
    assert [store.get(dead.job.key).state for dead in found] == [JobState.DONE] * 2
    assert len(store.dead(PART, 1)) == 1
    assert store.count_dead(PART, 100) == 2


def test_a_dead_job_comes_back_once_in_its_old_position(store):
    job = taken(store)
    dead = Dead(replace(job, failures=3), "boom", LATER)
    mark = store.end(job, LATER, dead=dead)
    back = lifecycle.revived(dead, LATER, mark)

    assert store.revive(dead, back, mark) == back == store.get(job.key)
    assert (back.position, back.failures, back.generation) == (job.position, 0, 2)
    assert store.dead(PART, 10) == []
    store.end(store.claim(head(store), "s", "c9", LATER), LATER)

    assert store.revive(dead, back, mark).state is JobState.DONE
    later = store.get(job.key)

    assert store.revive(dead, lifecycle.revived(dead, LATER, later), later) == later


def test_a_job_that_died_again_does_not_come_back_as_it_died_before(store):
    first, again = taken_again(store)
    second, mark = death_of(store, again, LATER + 1)

    assert store.revive(first, lifecycle.revived(first, LATER, mark), mark) == mark
    assert store.dead(PART, 10) == [second]
    assert store.revive(second, lifecycle.revived(second, LATER, mark), mark).deliveries == 2


def test_a_dead_job_does_not_come_back_over_a_mark_that_was_not_seen(store):
    dead, mark = death_of(store, taken(store))

    assert store.revive(dead, lifecycle.revived(dead, LATER, None), None) == mark
    assert store.dead(PART, 10) == [dead]


def test_a_dead_job_does_not_come_back_over_a_live_one(store):
    job = taken(store)
    dead = Dead(job, "boom", LATER)
    mark = store.end(job, LATER, dead=dead)
    other = new("a", LATER, over=mark)
    store.add(other, mark)

    assert store.revive(dead, lifecycle.revived(dead, LATER, mark), mark) == other
    assert store.dead(PART, 10) == [dead]


def test_an_outbox_entry_is_kept_until_it_is_deleted(store):
    store.end(taken(store, item_id=item_named(1)), LATER)
    job = taken(store, name="b", item_id=item_named(2))
    store.end(job, LATER, [PUT], None)
    found = sorted(store.outbox(PART), key=lambda entry: entry.item_id)

    assert [(entry.item_id, entry.failed) for entry in found] == [
        (item_named(1), False),
        (item_named(2), False),
    ]
    store.delete_outbox_entry(QUEUE, replace(found[0], failed=True))
    store.delete_outbox_entry(QUEUE, found[1])
    store.delete_outbox_entry(QUEUE, found[1])

    assert store.outbox(PART) == [found[0]]


def test_the_outbox_entry_of_a_job_whose_worker_failed_its_item_is_a_failure(store):
    job = taken(store, item_id=item_named(1))
    mark = store.end(replace(job, item_failure="not a JPEG"), LATER)
    (entry,) = store.outbox(PART)

    assert (mark.state, entry.failed, entry.reason) == (JobState.DONE, True, "not a JPEG")


def test_the_outbox_entry_has_the_result_of_the_item_unless_the_item_failed(store):
    job = replace(taken(store, item_id=item_named(1)), item_result='{"size":3}')
    store.end(job, LATER)
    (entry,) = store.outbox(PART)

    assert (entry.failed, entry.result) == (False, '{"size":3}')
    failed = lifecycle.outbox_entry(replace(job, item_failure="not a JPEG"), None)
    assert (failed.failed, failed.result) == (True, None)


def test_the_outbox_entry_of_a_dead_job_is_a_failure(store):
    job = taken(store, item_id=item_named(1))
    store.end(job, LATER, dead=Dead(job, "boom", LATER))

    assert store.outbox(PART) == [
        OutboxEntry(job.id, item_named(1), failed=True, reason="boom", ending=job.ending, part=0)
    ]


@pytest.mark.parametrize("other", [QUEUE, OTHER], ids=["one queue", "two queues"])
def test_two_jobs_of_one_id_die_and_come_back_each_for_itself(store, other):
    """A job's id is its producer's choice: nothing keeps two keys, or two queues, from the same one."""
    deaths = []
    for queue, name in ((QUEUE, "a"), (other, "b")):
        key = job_key(queue, 1, name)
        job = lifecycle.new_job(NewJob(name, item_id=item_named(name), id="same"), key, "same", NOW, None)
        store.add(job, None)
        busy = store.claim(store.ready(key.part, 1)[0], "s", f"claim of {name}", LATER)
        deaths.append(Dead(busy, f"error of {name}", LATER + len(deaths)))
        store.end(busy, LATER, dead=deaths[-1])
    parts = [PartKey(queue, 0) for queue in dict.fromkeys((QUEUE, other))]

    assert [dead for part in parts for dead in store.dead(part, 10)] == deaths
    assert sum(store.count_dead(part, 100) for part in parts) == 2
    entries = [(part.queue, entry) for part in parts for entry in store.outbox(part)]
    assert [entry.item_id for _, entry in entries] == [item_named("a"), item_named("b")]
    for queue, entry in entries:
        store.delete_outbox_entry(queue, entry)
    assert not any(store.outbox(part) for part in parts)
    for dead in deaths:
        back = lifecycle.revived(dead, LATER, store.get(dead.job.key))

        assert store.revive(dead, back, store.get(dead.job.key)) == back
    assert not any(store.count_dead(part, 100) for part in parts)


def test_a_key_that_forgot_its_generations_loses_no_death(store):
    """An hour after the end the mark goes, and the next job of the key is of the first generation again."""
    deaths = []
    for claim in ("c1", "c2"):
        job = taken(store, claim=claim)
        deaths.append(death_of(store, job, LATER + len(deaths))[0])
        drop_mark(store, job.key)

    assert [dead.job.generation for dead in deaths] == [1, 1]
    assert store.dead(PART, 10) == deaths


def test_dead_jobs_and_outbox_entries_lie_with_their_part(store):
    """One partition of DynamoDB takes 1,000 write units a second, and with a local index 10 GB."""
    deaths = {}
    for number, name in enumerate(("a", "b", "c")):
        key = JobKey(PartKey(QUEUE, number), f"k#{name}")
        store.add(lifecycle.new_job(NewJob(name, item_id=item_named(name)), key, name, NOW, None), None)
        job = store.claim(store.ready(key.part, 1)[0], "s", f"claim of {name}", LATER)
        deaths[key.part], _ = death_of(store, job)

    assert {part: store.dead(part, 10) for part in deaths} == {part: [dead] for part, dead in deaths.items()}
    assert [store.count_dead(part, 100) for part in deaths] == [1] * 3
    entries = {part: store.outbox(part) for part in deaths}
    assert [[entry.item_id for entry in found] for found in entries.values()] == [
        [item_named("a")],
        [item_named("b")],
        [item_named("c")],
    ]
    store.delete_outbox_entry(QUEUE, entries[PartKey(QUEUE, 1)][0])

    assert [len(store.outbox(part)) for part in deaths] == [1, 0, 1]


def test_a_dead_job_whose_rerun_took_its_key_still_names_that_rerun(store):
    rerun = Rerun("again", LATER, 3, payload="{1}", item_id="item of again")
    job = store.rerun(taken(store), rerun)
    dead, after = death_of(store, job)

    assert (after.id, after.payload, after.item_id) == ("again", "{1}", "item of again")
    assert store.dead(PART, 10) == [dead]
    assert dead.job.rerun == rerun


def test_a_dead_job_whose_id_reads_like_its_record_is_read_as_it_died(store):
    key, job_id = job_key(QUEUE, 1, "a"), "c1#k#a"
    store.add(lifecycle.new_job(NewJob("a", id=job_id), key, job_id, NOW, None), None)
    job = store.claim(head(store), "s1", "c1", LATER)
    dead = Dead(replace(job, failures=3), "boom", LATER)
    store.end(job, LATER, dead=dead)

    assert (dead.record, store.dead(PART, 10)) == (job_id, [dead])


def test_an_end_and_several_writes_with_conditions_happen_together(store):
    other = {"Put": PUT["Put"] | {"Item": OTHERS}}
    if isinstance(store, MemoryStore):
        store.written.append(PUT)
    else:
        store.client.put_item(**PUT["Put"])
    mark = store.end(taken(store), LATER, [other, GUARDED])

    assert mark.state is JobState.DONE
