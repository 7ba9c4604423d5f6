"""The requests of a session, and when it is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.members import Watch
from fanin.queue.rules.model import Member
from fanin.queue.working.session import enter
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY


@pytest.fixture
def bench():
    return Bench()


def test_a_doubt_is_kept_for_as_long_as_a_request_can_be_late(bench):
    (job,) = bench.take("a")
    bench.claims.abandon(job)
    bench.time.sleep(899.9)
    late = bench.session.doubts()
    bench.time.sleep(0.1)

    assert (late, bench.session.doubts()) == ({0}, set())


def test_a_session_lasts_a_heartbeat_less_than_its_expiry(bench):
    bench.time.sleep(3.999)
    alive = bench.session.alive()
    bench.time.sleep(0.001)

    assert (alive, bench.session.alive(), bench.session.lost) == (True, False, True)


def test_a_session_for_a_while_expires_a_second_after_it(bench):
    session = enter(bench.context, 30.0)

    assert session.member.expires_us == bench.time.now() + 31_000_000
    assert (session.member.beats, session.patience) == (False, 30.0)
    assert (session.member.expiry_us, session.member.started_us) == (5_000_000, bench.time.now())


def test_a_session_whose_process_stood_still_before_it_was_stored_creates_its_queue_anew(bench):
    """The queue was removed meanwhile, and its row counts the changes of the sessions."""

    def stand_still():
        bench.time.sleep(3600)
        bench.store.real.configs.clear()
        return "late"

    effects = replace(bench.context.effects, new_id=stand_still)
    session = enter(replace(bench.context, effects=effects), None)

    assert (session.id, bench.store.real.config(KEY)) == ("late", QueueConfig(1))


def test_a_heartbeat_counts_from_when_it_was_sent(bench):
    beat = bench.store.real.beat
    bench.time.sleep(2)

    def slow(*asked):
        bench.time.sleep(1.5)
        return beat(*asked)

    bench.store.scripts["beat"] = slow

    assert bench.session.beat()
    assert bench.session.confirmed_at == bench.time.monotonic() - 1.5 == 2
    assert bench.store.of("beat")[-1][2] == bench.time.now() - 1_500_000 + 5_000_000


def test_a_heartbeat_that_comes_back_too_late_does_not_revive_its_session(bench):
    beat = bench.store.real.beat

    def slow(*asked):
        bench.time.sleep(4)
        return beat(*asked)

    bench.store.scripts["beat"] = slow

    assert (bench.session.beat(), bench.session.confirmed_at) == (False, 0.0)


@pytest.mark.parametrize(("beats", "changes"), [(True, 1), (False, 0)])
def test_a_session_that_ends_counts_as_a_change_if_it_owned_parts(bench, beats, changes):
    session = bench.session if beats else enter(bench.context, 30.0)
    bench.forget()
    session.end()

    assert bench.store.names() == ["end_session", "forget"] + ["count_change"] * changes
    assert not session.alive()


MEMBER = Member("s1", True, 10_000_000, 5_000_000, "host", 1, 0)


def test_a_session_misses_heartbeats_after_half_its_expiry_and_is_suspected_after_nine_tenths():
    watch = Watch()
    watch.observe([MEMBER], 1.0)

    assert [watch.misses_heartbeats(MEMBER, at) for at in (3.499, 3.5)] == [False, True]
    assert [watch.suspects([MEMBER], at, 0) for at in (5.499, 5.5)] == [[], [MEMBER]]


def test_an_older_copy_of_a_session_is_no_heartbeat_and_a_session_that_is_gone_is_forgotten():
    watch = Watch()
    watch.observe([replace(MEMBER, heartbeats=2)], 1.0)
    watch.note([replace(MEMBER, heartbeats=1)], 3.0)

    assert watch.seen == {"s1": (True, 2, 1.0)}
    watch.note([replace(MEMBER, heartbeats=2, live=False)], 4.0)
    watch.note([replace(MEMBER, heartbeats=2)], 5.0)
    assert watch.seen == {"s1": (False, 2, 4.0)}
    watch.observe([], 6.0)
    assert watch.seen == {}
