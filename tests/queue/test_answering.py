"""A function whose event source is the doorbell: what it takes, returns and refuses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fanin.errors import InvalidRequest
from fanin.queue import LostClaim, NewJob, QueueKey, Ring
from fanin.queue.rules.messages import body
from tests.queue.conftest import KEY, OUTCOME, Boom, expects, names

SECONDS = 30
CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: SECONDS * 1000)


def event(*rings: Ring, key: QueueKey = KEY) -> dict:
    """The context that Lambda passes."""
    return {"Records": [{"messageId": "r", "body": body(key, ring), "receiptHandle": "r"} for ring in rings]}


def test_an_invocation_takes_a_job_for_each_ring_at_most_and_acks_them(queue):
    queue.add_all([*"abc"])
    with queue.answer(event(Ring(0), Ring(0)), CONTEXT) as jobs:
        taken = names(jobs)
        jobs.ack(jobs[0], [OUTCOME])

    assert taken == ["a", "b"]
    assert names(queue.queued()) == ["c"]
    assert queue.context.store.written == [OUTCOME]


def in_parts(queue, *parts: int) -> list[NewJob]:
    """A new job in each of *parts*, the first with the highest priority."""
    found: dict[int, list[str]] = {}
    for number in range(500):
        found.setdefault(queue.context.rows(f"job-{number}").at.part.number, []).append(f"job-{number}")
    return [NewJob(found[part].pop(), priority=999 - n) for n, part in enumerate(parts)]


def test_a_job_of_one_part_is_not_taken_for_the_ring_of_another(make):
    queue = make(parts=2)
    first, second, third = in_parts(queue, 0, 0, 1)
    queue.add_all([first, second, third])
    with queue.answer(event(Ring(0), Ring(1)), CONTEXT) as jobs:
        assert set(names(jobs)) == {first.key, third.key}
    with queue.answer(event(Ring(0)), CONTEXT) as jobs:
        assert names(jobs) == [second.key]


def test_jobs_that_another_invocation_claims_meanwhile_are_replaced_by_the_next_ones(
    queue, store, monkeypatch
):
    queue.add_all([*"abcd"])
    whole, looks = store.ready, []

    def raced(part, most):
        heads = whole(part, most)
        looks.append(len(heads))
        if len(looks) == 1:
            with queue.take(1, wait=0) as jobs:
                assert names(jobs) == ["a"]
        return heads

    monkeypatch.setattr(store, "ready", raced)
    with queue.answer(event(Ring(0), Ring(0)), CONTEXT) as jobs:
        assert names(jobs) == ["b", "c"]


def test_what_others_still_claim_after_some_rounds_is_rung_for_again(queue, store, bell, monkeypatch):
    queue.add("a")
    heads = store.ready(queue.context.part(0), 1)
    with queue.take(1, wait=0):
        bell.rings.clear()
        monkeypatch.setattr(store, "ready", lambda part, most: heads)
        with queue.answer(event(Ring(0)), CONTEXT) as jobs:
            assert names(jobs) == []

    assert [ring for _, ring in bell.rings] == [Ring(0)]


def test_a_delayed_job_is_promoted_by_the_ring_that_says_it_is_due(queue, time):
    queue.add(NewJob("a", delay=5))
    time.sleep(5)
    with queue.answer(event(Ring(0)), CONTEXT) as jobs:
        early = names(jobs)
    with queue.answer(event(Ring(0, due=True)), CONTEXT) as jobs:
        assert (early, names(jobs)) == ([], ["a"])


def test_an_exception_returns_the_jobs_and_goes_on_so_that_the_rings_come_again(queue):
    queue.add_all([*"ab"])
    with expects(Boom), queue.answer(event(Ring(0), Ring(0)), CONTEXT):
        raise Boom

    assert [(job.name, job.failures) for job in queue.queued()] == [("a", 1), ("b", 1)]
    assert queue.sessions() == []


def test_a_session_of_an_invocation_lasts_as_long_as_its_time(queue, time):
    queue.add("a")
    with expects(LostClaim), queue.answer(event(Ring(0)), CONTEXT) as jobs:
        (session,) = queue.sessions()
        lasts = session.expires_us - time.now()
        time.sleep(SECONDS)
        jobs.ack(jobs[0], [OUTCOME])

    assert (session.beats, lasts) == (False, (SECONDS + 1) * 1_000_000)
    assert queue.context.store.written == []


@pytest.mark.parametrize(
    "stray", [event(Ring(0), key=QueueKey("tenant", "others")), {"Records": [{"body": "{}"}]}]
)
def test_a_message_that_is_no_ring_of_this_queue_is_refused_before_anything_is_taken(queue, stray):
    queue.add("a")
    mixed = {"Records": [*event(Ring(0))["Records"], *stray["Records"]]}
    mixed["Records"][1].setdefault("receiptHandle", "r")
    with expects(InvalidRequest), queue.answer(mixed, CONTEXT):
        pass

    assert [(job.name, job.deliveries) for job in queue.queued()] == [("a", 0)]
