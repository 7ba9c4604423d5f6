"""The client's calls that administer work queues, over HTTP on queues in memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import pytest

from fanin import Fanin, InvalidRequest, NewJob, Options
from fanin.client.queues.queue_admin import NAMED_A_REQUEST
from fanin.client.transports.direct import DirectTransport
from fanin.errors import Conflict
from fanin.queue import MemoryDoorbell, Queue, QueueContext, QueueKey
from fanin.queue.memory import MemoryStore
from functions.wiring import queueing
from tests.client.conftest import TENANT

KEY = QueueKey(TENANT, "thumbs")


class Boom(Exception):
    """The work fails."""


@pytest.fixture
def queue(monkeypatch, service):
    store = MemoryStore()

    def made(key, _creator=None):
        options = Options(parts=2, max_failures=1)
        return Queue(QueueContext(store, MemoryDoorbell(), key, options), background=lambda _: lambda: None)

    class Names:
        """The queues of a tenant."""

        def of_tenant(self, tenant, after, limit):
            keys = sorted(
                (key for key in store.configs if key.tenant == tenant and key.name > (after or "")), key=str
            )
            return keys[:limit]

        def seen(self, keys):
            return {key: (store.configs[key], None) for key in keys}

    monkeypatch.setattr(queueing, "_queue", made)
    monkeypatch.setattr(queueing, "creator", lambda: None)
    monkeypatch.setattr(queueing, "registry", Names)
    found = made(KEY)
    found.context.config()
    return found


def die(queue, *names):
    queue.add_all(names)
    for _ in names:
        with suppress(Boom), queue.take(1, wait=0):
            raise Boom


def test_queues_are_listed_over_all_pages(over_http, queue):
    for number in range(45):
        Queue(QueueContext(queue.context.store, MemoryDoorbell(), QueueKey(TENANT, f"q{number:02}"))).add("a")
    found = list(over_http.queues())

    assert [each.name for each in found] == [*(f"q{number:02}" for number in range(45)), "thumbs"]
    status = over_http.queue_status("q00")
    assert status.counted_at is not None
    assert found[0] == replace(status, oldest_seconds=found[0].oldest_seconds, counted_at=found[0].counted_at)
    assert (found[0].queued, found[0].activity, found[0].accuracy) == (1, "inUse", "exact")


def test_sessions_and_jobs_are_listed(over_http, queue):
    queue.add_all(["a", NewJob("late", delay=60)])
    queue.take(1, wait=0).__enter__()
    (session,) = over_http.queue_sessions("thumbs")
    (busy,), (late,) = (list(over_http.queue_jobs("thumbs", state)) for state in ("inProgress", "delayed"))

    assert (session.kind, session.live, type(session.started_at)) == ("worker", True, datetime)
    assert (busy.key, busy.state, busy.deliveries) == ("a", "inProgress", 1)
    assert late.due_at > late.added_at
    assert list(over_http.queue_jobs("thumbs")) == []


def test_dead_jobs_are_revived_by_id_and_all_of_them(over_http, queue):
    die(queue, *(f"job {i:03}" for i in range(NAMED_A_REQUEST + 5)))
    dead = list(over_http.queue_jobs("thumbs", "dead"))
    queue.add(dead[0].key)
    some = over_http.revive_jobs("thumbs", [each.dead_id for each in dead[:2]])
    rest = over_http.revive_all_jobs("thumbs")

    assert "Boom" in dead[0].error
    assert (some.revived, some.left) == (1, {dead[0].dead_id: "liveJob"})
    assert (rest.revived, rest.left, rest.cursor) == (NAMED_A_REQUEST + 3, some.left, None)


def test_a_queue_is_paused_resumed_and_removed(over_http, queue):
    queue.add("a")
    over_http.pause_queue("thumbs")
    assert over_http.queue_status("thumbs").paused

    over_http.resume_queue("thumbs")
    assert not over_http.queue_status("thumbs").paused
    with pytest.raises(Conflict):
        over_http.remove_queue("thumbs")
    over_http.remove_queue("thumbs", force=True)
    assert over_http.queue_status("thumbs").activity == "removing"


def test_arguments_of_another_type_are_refused(over_http, queue):
    with pytest.raises(InvalidRequest, match="state is one of"):
        over_http.queue_jobs("thumbs", "done")
    for call in (over_http.delete_jobs, over_http.revive_jobs):
        with pytest.raises(InvalidRequest, match="is a list"):
            call("thumbs", "abc")
        with pytest.raises(InvalidRequest):
            call("thumbs", [7])
    with pytest.raises(InvalidRequest, match="a queue's name"):
        over_http.queue_status(7)


def test_a_direct_client_says_that_it_administers_no_queues(tracker):
    with pytest.raises(InvalidRequest, match="over HTTP"):
        Fanin(DirectTransport(tracker, "t")).queue_status("thumbs")
