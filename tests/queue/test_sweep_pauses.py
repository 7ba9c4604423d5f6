"""When a worker sweeps its parts again, which parts these are, and what its round returns."""

from __future__ import annotations

import pytest

from fanin.queue.rules.keys import job_key
from fanin.queue.rules.members import Watch
from fanin.queue.rules.model import Member
from fanin.queue.upkeep.maintenance import Maintenance
from fanin.queue.working.session import enter
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY

PARTS = 9
EXPIRY = 100.0
"""Longer than a test: its sessions live though they do not beat."""


def worker(bench):
    """Return the maintenance of the session of a bench, which knows all sessions, after its first round."""
    maintenance = Maintenance(bench.context, bench.session)
    maintenance.read_members()
    maintenance.tick()
    bench.forget()
    return maintenance


def parts_swept(bench):
    """Return the parts whose first jobs were read, in order."""
    return [part.number for part, _ in bench.store.of("first")]


def crowd():
    """Return a bench whose session owns the first of nine parts, and others own the other ones."""
    bench = Bench(parts=PARTS, expiry=EXPIRY)
    for _ in range(PARTS - 1):
        enter(bench.context, None)
    return bench


def job_of(part):
    return next(name for name in map(str, range(999)) if job_key(KEY, PARTS, name).part.number == part)


@pytest.mark.parametrize(
    ("part", "doubtful", "seconds"), [(None, False, 20), (0, False, 5), (None, True, 5), (0, True, 5)]
)
def test_parts_are_swept_again_soon_while_they_have_jobs_or_a_request_is_in_doubt(part, doubtful, seconds):
    bench = Bench(parts=2, expiry=EXPIRY)
    if part is not None:
        bench.add(next(name for name in map(str, range(99)) if job_key(KEY, 2, name).part.number == part))
    if doubtful:
        bench.session.doubt("claim", job_key(KEY, 2, "a"))
    maintenance = worker(bench)
    bench.time.sleep(seconds - 0.001)
    maintenance.tick()
    early = parts_swept(bench)
    bench.time.sleep(0.001)
    maintenance.tick()

    assert (early, parts_swept(bench)) == ([], [0, 1])


def test_a_worker_sweeps_the_parts_in_which_a_claim_is_in_doubt_too_in_order():
    bench = crowd()
    bench.session.doubt("claim", job_key(KEY, PARTS, job_of(8)))
    maintenance = worker(bench)
    bench.time.sleep(5)
    maintenance.tick()

    assert parts_swept(bench) == [0, 8]


def test_a_round_returns_whether_its_session_is_alive():
    bench = Bench()
    maintenance = worker(bench)
    before = maintenance.tick()
    bench.session.end()

    assert (before, maintenance.tick()) == (True, False)


def test_a_dead_session_of_an_invocation_is_ended_again_after_nine_tenths_of_its_expiry():
    """The worker that ended it may still be freeing its claims."""
    dead = Member(
        "a", beats=False, expires_us=0, expiry_us=5_000_000, host="h", pid=1, started_us=0, live=False
    )
    watch = Watch()
    watch.observe([dead], 0.0)

    assert [watch.suspects([dead], at, 10**15) for at in (0.0, 4.499, 4.5)] == [[], [], [dead]]
