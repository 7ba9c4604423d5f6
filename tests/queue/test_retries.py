"""A request whose write others always win is tried eight times, with pauses, and then asks for a retry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import NewJob, OnBusy, Queue
from fanin.queue.administration import removing
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.administration.deleting import delete_jobs
from fanin.queue.administration.pausing import pause, resume
from fanin.queue.administration.raising import raise_parts
from fanin.queue.rules.config import QueueConfig
from fanin.queue.worker.producer import Producer
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY, fail


class Doorbells:
    def create(self, queue):
        return f"https://{queue.name}"


def add(bench):
    return Producer(bench.context).add_all([NewJob("a")], OnBusy.RERUN)


def create(bench):
    creator = QueueCreator(bench.store, Doorbells(), bench.context.effects)
    return creator.create(KEY, QueueConfig(1))


def revive(bench):
    queue = Queue(bench.context, background=lambda _: lambda: None)
    (dead,) = queue.dead()
    return queue.revive(dead)


def stays(bench, seen, wanted):
    """Another process changes the config at each attempt."""
    return replace(bench.store.real.config(KEY), doorbell="another")


def same(bench, seen, *_):
    return seen


def revived_by_another(bench, dead, job, *_):
    return replace(job, revival=f"{len(bench.pauses)}")


CASES = {
    "raise": ("reconfigure", stays, lambda bench: raise_parts(bench.store, bench.context.effects, KEY, 4)),
    "pause": ("reconfigure", stays, lambda bench: pause(bench.context)),
    "resume": ("reconfigure", stays, lambda bench: resume(bench.context)),
    "remove": ("reconfigure", stays, lambda bench: removing.begin(bench.context, force=False)),
    "remove by force": ("reconfigure", stays, lambda bench: removing.begin(bench.context, force=True)),
    "create": ("reconfigure", stays, create),
    "add": ("add", lambda bench, *_: bench.mark, add),
    "delete": ("delete", same, lambda bench: delete_jobs(bench.context, ["waits"])),
    "revive": ("revive", revived_by_another, revive),
}


@pytest.mark.parametrize("case", CASES)
def test_a_write_that_others_always_win_is_tried_eight_times_and_asks_for_a_retry(case):
    request_, answer, run = CASES[case]
    bench = Bench(max_failures=1)
    (job,) = bench.take("a")
    bench.mark = bench.claims.end(job)
    if request_ == "delete":
        bench.add("waits")
    if case == "revive":
        bench.add("dies")
        fail(Queue(bench.context, background=lambda _: lambda: None))
    if case == "resume":
        pause(bench.context)
    bench.store.scripts[request_] = lambda *asked: answer(bench, *asked)
    bench.forget()

    with pytest.raises(StoreUnavailable, match=r"retry|call revive again|add it again"):
        run(bench)
    assert (len(bench.store.of(request_)), bench.pauses) == (8, sorted(bench.pauses))
    assert len(bench.pauses) == 8
