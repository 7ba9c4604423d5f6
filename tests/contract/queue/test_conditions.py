"""Every write compares what was seen for equality: neither an older nor a newer row will do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import GivenBack, JobState, Member, Rerun
from tests.contract.queue.calls import LATER, NOW, QUEUE, added, death_of, done_job, head, new, taken
from tests.item_ids import item_named

AROUND = ("a", "c", "c10", "z")
"""Claims before and after the usual "c1"."""
SESSION = Member("s", True, LATER, 5_000_000, "host", 1, NOW)


def delayed(store):
    """A delayed job, as its entry."""
    return lifecycle.entry_of(added(store, delay=10))


def rerun(name: str) -> Rerun:
    return Rerun(name, LATER, 0)


def rerun_asked(store):
    """A busy job that is to run once more."""
    return store.rerun(taken(store), rerun("r5"))


def refuses(store, write, *keys) -> None:
    """Check that *write* changes none of the jobs *keys*."""
    before = [store.get(key) for key in keys]
    write()

    assert [store.get(key) for key in keys] == before


@pytest.mark.parametrize("revision", [0, 1, 3, 4])
def test_a_config_is_replaced_over_the_revision_before_it(store, revision):
    store.create(QUEUE, QueueConfig(1))
    store.reconfigure(QUEUE, QueueConfig(2, revision=1))
    assert store.reconfigure(QUEUE, QueueConfig(3, revision=2)) == QueueConfig(3, revision=2)

    assert store.reconfigure(QUEUE, QueueConfig(9, revision=revision)) == (
        QueueConfig(9, revision=3) if revision == 3 else QueueConfig(3, revision=2)
    )


def test_a_claim_takes_the_job_that_was_seen(store):
    taken(store)
    store.give_back(lifecycle.entry_of(store.get(new("a").key)), GivenBack(LATER))
    seen = head(store)
    assert seen.deliveries == 1

    for changed in ({"deliveries": 0}, {"deliveries": 2}, {"job_id": "a"}, {"job_id": "z"}):
        refuses(store, partial(store.claim, replace(seen, **changed), "s2", "c2", LATER), seen.key)


CREATED = {"ready": added, "busy": taken, "done": done_job, "delayed": lambda store: added(store, delay=1)}
WRITES = {
    "claim": ("ready", lambda store, job: store.claim(lifecycle.entry_of(job), "s2", "c2", LATER)),
    "ask for a rerun": ("busy", lambda store, job: store.rerun(job, rerun("r7"))),
    "promote": ("delayed", lambda store, job: store.promote(lifecycle.entry_of(job), LATER)),
    "add over its mark": ("done", lambda store, job: store.add(new("a", LATER, over=job), job)),
}


@pytest.mark.parametrize(
    ("write", "state"), [(write, state) for write in WRITES for state in CREATED if state != WRITES[write][0]]
)
def test_a_write_changes_a_job_of_its_own_state_alone(store, write, state):
    job, (_, call) = CREATED[state](store), WRITES[write]

    refuses(store, lambda: call(store, job), job.key)


@pytest.mark.parametrize("write", ["give back", "end", "end with an item", "end and rerun"])
def test_a_claimed_job_is_left_by_its_claim_alone(store, write):
    item = {"item_id": item_named("i")} if "item" in write else {}
    job = rerun_asked(store) if "rerun" in write else taken(store, **item)
    for other in [replace(job, claim=claim) for claim in AROUND]:
        given_back = partial(store.give_back, lifecycle.entry_of(other), GivenBack(LATER))
        refuses(store, given_back if write == "give back" else partial(store.end, other, LATER), job.key)

    assert list(store.outbox(job.key.part)) == []


def test_an_end_knows_of_the_rerun(store):
    job = rerun_asked(store)

    for seen in (rerun("r4"), rerun("r6"), None):
        refuses(store, partial(store.end, replace(job, rerun=seen), LATER), job.key)


def test_a_rerun_is_asked_of_the_run_that_was_seen(store):
    job = rerun_asked(store)
    runs = [{"id": "a"}, {"id": "z"}, {"generation": 0}, {"generation": 2}]

    for changed in [*runs, {"rerun": rerun("r4")}, {"rerun": rerun("r6")}, {"rerun": None}]:
        refuses(store, partial(store.rerun, replace(job, **changed), rerun("r7")), job.key)


def test_the_delayed_job_that_was_seen_is_promoted(store):
    seen = delayed(store)

    for changed in ({"job_id": "a"}, {"job_id": "z"}, {"ix": "2#0"}, {"ix": "2#9"}):
        assert not store.promote(replace(seen, **changed), LATER)
    assert store.get(seen.key).state is JobState.DELAYED
    assert store.promote(seen, LATER)


def test_nothing_is_written_where_the_job_is_gone(store):
    job = new("a")
    seen = lifecycle.entry_of(job)
    store.collide(job)

    assert store.rerun(replace(job, state=JobState.BUSY), rerun("r7")) is None
    assert store.claim(seen, "s", "c", LATER) is None
    assert not store.promote(replace(seen, state=JobState.DELAYED), LATER)
    assert store.get(job.key) is None


CHANGES = (
    *({"id": name} for name in ("a", "z")),
    *({"generation": number} for number in (0, 2)),
    *({"added_us": NOW + each} for each in (-1, 1)),
    *({"state": state} for state in (JobState.BUSY, JobState.DELAYED)),
)


def test_the_job_that_was_seen_is_removed_and_deleted(store):
    job = added(store)

    for other in [replace(job, **changed) for changed in CHANGES]:
        refuses(store, partial(store.remove, other, ()), job.key)
        refuses(store, partial(store.delete, other, (), LATER, "d"), job.key)


def test_a_busy_job_is_removed_under_the_claim_that_was_seen(store):
    job = taken(store)

    for claim in AROUND:
        refuses(store, partial(store.remove, replace(job, claim=claim), ()), job.key)
    assert store.remove(job, ())
    assert store.get(job.key) is None


def test_a_busy_job_is_removed_with_the_rerun_that_was_seen(store):
    job = rerun_asked(store)

    for seen in (rerun("r4"), rerun("r6"), None):
        refuses(store, partial(store.remove, replace(job, rerun=seen), ()), job.key)
    assert store.remove(job, ())


@pytest.mark.parametrize("write", ["remove", "delete"])
def test_a_waiting_job_whose_rerun_was_requested_meanwhile_stays(store, write):
    """It was claimed and returned in between, as the same job in the same state."""
    seen = added(store)
    busy = store.claim(head(store), "s", "c", LATER)
    store.give_back(lifecycle.entry_of(store.rerun(busy, rerun("r5"))), GivenBack(LATER))
    writes = {
        "remove": partial(store.remove, seen, ()),
        "delete": partial(store.delete, seen, (), LATER, "d"),
    }

    refuses(store, writes[write], seen.key)
    assert store.get(seen.key).rerun == rerun("r5")


def test_the_job_that_was_seen_is_moved(store):
    job = added(store)
    there = replace(job, key=new("elsewhere").key)

    for changed in [*CHANGES[:4], {"deliveries": 3}, {"collisions": 3}, {"priority": 5}]:
        refuses(store, partial(store.move, replace(job, **changed), there, None, LATER), job.key, there.key)


@pytest.mark.parametrize("generation", [0, 2])
@pytest.mark.parametrize("write", ["add", "revive"])
def test_a_job_is_stored_over_the_mark_that_was_seen(store, write, generation):
    dead, mark = death_of(store, taken(store))
    over = replace(mark, generation=generation)
    job = lifecycle.revived(dead, LATER, over)
    store_it = {"add": lambda: store.add(job, over), "revive": lambda: store.revive(dead, job, over)}

    refuses(store, store_it[write], job.key)
    assert list(store.dead(dead.job.key.part, 10)) == [dead]


def test_a_session_is_ended_with_the_heartbeats_that_were_seen(store):
    store.enter(QUEUE, SESSION)
    store.beat(QUEUE, "s", LATER)
    store.beat(QUEUE, "s", LATER)

    assert not store.end_session(QUEUE, "s", 1)
    assert not store.end_session(QUEUE, "s", 3)
    assert store.members(QUEUE)[0].live
    assert store.end_session(QUEUE, "s", 2)
    assert not store.beat(QUEUE, "s", LATER)
    assert [store.end_session(QUEUE, "s", heartbeats) for heartbeats in (1, 3)] == [True, True]


@pytest.mark.parametrize("failed", [False, True])
def test_a_reported_entry_of_the_outbox_is_deleted_as_it_was_seen(store, failed):
    job = taken(store, item_id=item_named("i"))
    if failed:
        death_of(store, job)
    else:
        store.end(job, LATER)
    (entry,) = store.outbox(job.key.part)
    store.delete_outbox_entry(QUEUE, replace(entry, failed=not failed))

    assert list(store.outbox(job.key.part)) == [entry]
    assert store.has_outbox(job.key.part) is True
    store.delete_outbox_entry(QUEUE, entry)
    assert list(store.outbox(job.key.part)) == []
    assert store.has_outbox(job.key.part) is False
