"""The request that a queue exist, and requests whose writes others win: retried eight times, with pauses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import Conflict, StoreUnavailable
from fanin.queue import NewJob, OnBusy, Queue
from fanin.queue.administration import removing
from fanin.queue.administration.changing import delete_jobs, pause, resume
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.administration.raising import raise_parts
from fanin.queue.producer import Producer
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.errors import DoorbellMissing
from tests.queue.conftest import KEY, Bench, fail


class Doorbells:
    """The doorbells of a stack that lacks none."""

    def create(self, queue):
        return f"https://{queue.name}"

    def arn(self, url):
        return f"arn of {url}"


class Creating:
    """A creator of queues whose requests and pauses are noted."""

    def __init__(self):
        self.bench = Bench()
        self.store = self.bench.store
        self.store.real.configs.clear()
        self.creator = QueueCreator(self.store, Doorbells(), self.bench.context.effects)

    def ensure(self, parts=None, **more):
        return self.creator.ensure(KEY, parts, **more)

    def stored(self):
        return self.store.real.config(KEY)


@pytest.fixture
def creating():
    return Creating()


def test_a_new_queue_has_a_doorbell_and_emits_no_metrics(creating):
    ensured = creating.ensure()

    assert ensured.doorbell_arn == "arn of https://orders"
    assert ensured.config == QueueConfig(8, revision=0, doorbell="https://orders", metrics=False)
    assert ensured.config.metrics is False


@pytest.mark.parametrize("metrics", [True, False])
def test_metrics_are_changed_by_a_request_that_names_them_and_by_no_other(creating, metrics):
    creating.ensure(metrics=not metrics)
    changed = creating.ensure(metrics=metrics).config

    assert creating.ensure().config == changed == creating.stored()
    assert changed.metrics is metrics


@pytest.mark.parametrize("parts", [None, 8])
def test_a_queue_that_is_being_removed_is_refused(creating, parts):
    ensured = creating.ensure().config
    creating.store.real.reconfigure(KEY, replace(ensured, revision=1, removing_us=1))
    with pytest.raises(Conflict, match="queue 'orders' is being removed"):
        creating.ensure(parts)


@pytest.mark.parametrize("stored", [None, QueueConfig(8, revision=9, removing_us=1, removed_us=2)])
def test_a_queue_that_is_removed_during_the_request_is_a_retry_at_once(creating, stored):
    creating.ensure()
    creating.bench.forget()
    creating.store.scripts["reconfigure"] = lambda *_: stored
    with pytest.raises(StoreUnavailable, match="removed at the same time; retry"):
        creating.ensure(metrics=True)

    assert len(creating.store.of("reconfigure")) == 1


@pytest.mark.parametrize(
    ("found", "error", "text"),
    [
        ({"revision": 1, "removing_us": 1}, Conflict, "queue 'orders' is being removed"),
        ({"revision": 9, "parts": 4}, StoreUnavailable, "removed at the same time; retry"),
        ({"revision": 9, "doorbell": None}, DoorbellMissing, "of queue 'orders' cannot be created yet"),
    ],
    ids=["its removal began", "it has fewer parts", "it has no doorbell"],
)
def test_a_queue_that_is_another_once_its_metrics_are_changed_is_not_answered(creating, found, error, text):
    """It is being removed, or was removed and created again in between."""
    ensured = creating.ensure(8).config
    creating.store.scripts["reconfigure"] = lambda *_: replace(ensured, metrics=True, **found)

    with pytest.raises(error, match=text):
        creating.ensure(8, metrics=True)


@pytest.fixture(params=["is applied and has no answer", "is that of another process"])
def raise_followed_by(creating, request):
    """Have the raise of a queue be followed by a change, before its creator has the answer."""

    def follow(**changes):
        creating.ensure(4)
        real, stored = creating.store.real, []

        def reconfigure(queue, config):
            if stored:
                return real.reconfigure(queue, config)
            stored.append(real.reconfigure(queue, config))
            real.reconfigure(queue, replace(config, revision=config.revision + 1, **changes))
            if "no answer" in request.param:
                raise StoreUnavailable("timed out")
            return real.reconfigure(queue, config)

        creating.store.scripts["reconfigure"] = reconfigure

    return follow


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"removing_us": 1}, Conflict, "queue 'orders' is being removed"),
        ({"removing_us": 1, "removed_us": 2}, StoreUnavailable, "removed at the same time; retry"),
    ],
    ids=["begins", "ends"],
)
def test_a_queue_whose_removal_begins_or_ends_during_its_raise_is_refused(
    creating, raise_followed_by, change, error, text
):
    raise_followed_by(**change)
    with pytest.raises(error, match=text):
        creating.ensure(8)

    assert creating.stored().parts == 8


def test_a_raise_that_another_change_follows_is_answered_with_that_change(creating, raise_followed_by):
    raise_followed_by(paused=True)

    assert creating.ensure(8).config == creating.stored()
    assert (creating.stored().parts, creating.stored().paused) == (8, True)


def test_a_removed_queue_whose_row_is_deleted_before_it_is_created_again_is_a_retry(creating):
    creating.store.real.configs[KEY] = QueueConfig(8, revision=3, removing_us=1, removed_us=2)
    creating.store.scripts["reconfigure"] = lambda *_: None

    with pytest.raises(StoreUnavailable, match="removed at the same time; retry"):
        creating.ensure()


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
