"""What two articles ask of a queue, by number: sessions, 16 to 20."""

from __future__ import annotations

import os
import socket

import pytest

from fanin.queue import LostClaim, ShutDown
from tests.queue.conftest import KEY, OUTCOME, expects, names, session_of, unavailable


def test_16_a_session_has_a_row_with_a_heartbeat_and_says_where_it_runs(queue, time, duties):
    with queue.take(wait=0):
        (before,) = queue.sessions()
        duties.pass_seconds(1)
        (after,) = queue.sessions()

    assert (before.host, before.pid, before.started_us) == (
        socket.gethostname(),
        os.getpid(),
        time.now() - 10**6,
    )
    assert after.heartbeats == before.heartbeats + 1


def test_17_heartbeat_and_expiry_are_one_and_five_seconds_and_can_be_set(make, duties):
    usual, slow = make(), make(heartbeat=2.0, expiry=30.0)
    for queue in (usual, slow):
        with queue.take(wait=0):
            pass

    assert [member.expiry_us for member in usual.sessions()] == [5_000_000, 30_000_000]
    assert [[duty.seconds for duty in duties.of[number]] for number in (0, 1)] == [[1.0, 0.5], [2.0, 1.0]]


@pytest.mark.parametrize("timeout", [4, 5])
def test_17_claims_are_freed_after_the_expiry_and_within_two_seconds_of_it(make, duties, timeout):
    killed, other = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    with other.take(wait=0):
        pass
    duties.pass_seconds(1)
    duties.pass_seconds(timeout, without=(0,))
    freed_early = names(other.queued())
    duties.pass_seconds(7 - timeout, without=(0,))

    assert freed_early == ([] if timeout == 4 else ["a"])
    assert names(other.queued()) == ["a"]


def test_18_a_session_whose_heartbeat_was_refused_stops_and_acks_no_more(make, duties, time):
    frozen, other = make(), make()
    frozen.add("a")
    with expects(LostClaim), frozen.take(1, wait=0) as jobs:
        with other.take(wait=0):
            pass
        duties.pass_seconds(8, without=(0,))
        duties.of[0][0].do()

        assert jobs.lost
        jobs.ack(jobs[0], [OUTCOME])

    assert frozen.context.store.written == []
    assert names(other.queued()) == ["a"]


def test_18_a_session_without_confirmed_heartbeats_ends_itself_before_others_may(make, duties, monkeypatch):
    queue = make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        monkeypatch.setattr(queue.context.store, "beat", unavailable)
        duties.pass_seconds(3)
        lost_early = jobs.lost
        duties.pass_seconds(1)

        assert (lost_early, jobs.lost) == (False, True)
    (row,) = queue.sessions()

    assert row.live


def test_18_a_worker_that_was_given_up_goes_on_under_a_new_session(make, duties):
    queue = make(renew=True)
    queue.add("a")
    queue.take(1, wait=0).__enter__()
    first = session_of(queue)
    first.lost = True
    with queue.take(1, wait=0) as jobs:
        assert names(jobs) == ["a"]
        assert session_of(queue).id != first.id


def test_19_any_worker_ends_an_expired_session_and_its_claims_are_freed(make, duties):
    killed, other = make(), make()
    killed.add_all([*"ab"])
    killed.take(2, wait=0).__enter__()
    with other.take(wait=0):
        pass
    duties.pass_seconds(8, without=(0,))

    assert [(job.name, job.failures) for job in other.queued()] == [("a", 0), ("b", 0)]
    assert [member.id for member in other.sessions()] == [session_of(other).id]


def test_19_a_sweep_without_a_session_does_the_same_by_the_clock(make, time, duties):
    killed, function = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    time.sleep(7)
    function.sweep()
    kept = names(function.queued())
    time.sleep(0.1)
    function.sweep()

    assert kept == []
    assert names(function.queued()) == ["a"]
    assert function.sessions() == []


def test_19_q4_a_claim_of_a_session_that_is_gone_already_is_freed_by_the_sweep(make):
    killed, other = make(), make()
    killed.add("a")
    killed.take(1, wait=0).__enter__()
    other.context.store.end_session(KEY, session_of(killed).id, None)
    other.context.store.forget(KEY, session_of(killed).id)
    other.sweep()

    assert names(other.queued()) == ["a"]


def test_20_a_graceful_close_returns_the_claims_and_ends_the_session_at_once(make):
    queue, other = make(), make()
    queue.add("a")
    with expects(LostClaim), queue.take(1, wait=0) as jobs:
        queue.close()

        assert other.sessions() == []
        assert [(job.name, job.failures) for job in other.queued()] == [("a", 0)]
        jobs.ack(jobs[0])
    with pytest.raises(ShutDown), queue.take(1, wait=0):
        pass
    assert list(queue.stream()) == []
