"""A dead job is read as it died, whatever its id is and whatever was requested while it ran."""

from __future__ import annotations

from dataclasses import replace

from fanin.queue.rules import lifecycle
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.model import Dead, NewJob, Rerun
from tests.contract.queue.calls import LATER, NOW, PART, QUEUE, death_of, head, taken


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
