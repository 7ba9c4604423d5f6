"""How a scope ends where an ack, a return or the block itself fails, and what it is before it is entered."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.queue import LostClaim
from tests.queue.conftest import expects, names, unavailable


def failing_for(store, monkeypatch, name: str) -> None:
    """Have the end of the job *name* fail."""
    whole = store.end

    def end(job, *more):
        return unavailable() if job.name == name else whole(job, *more)

    monkeypatch.setattr(store, "end", end)


def test_a_lost_claim_that_the_block_has_handled_is_not_raised_again(queue, store):
    queue.add_all([*"ab"])
    with queue.take(2, wait=0) as jobs:
        store.stored.pop(jobs[0].key)
        with pytest.raises(LostClaim):
            jobs.ack(jobs[0])
        with pytest.raises(InvalidRequest):
            jobs.ack(jobs[0])

    assert queue.queued() == queue.in_progress() == []


def test_an_ack_whose_outcome_is_unknown_does_not_keep_the_others_from_theirs(queue, store, monkeypatch):
    queue.add_all([*"abc"])
    with expects(StoreUnavailable), queue.take(3, wait=0):
        failing_for(store, monkeypatch, "a")

    assert names(queue.queued()) == ["a"]
    assert queue.in_progress() == []


@pytest.mark.parametrize(("lost", "late", "first"), [("a", "b", LostClaim), ("b", "a", StoreUnavailable)])
def test_the_first_of_several_errors_of_the_acks_is_raised(queue, store, monkeypatch, lost, late, first):
    queue.add_all([*"ab"])
    with expects(first), queue.take(2, wait=0) as jobs:
        failing_for(store, monkeypatch, late)
        (gone,) = [job for job in jobs if job.name == lost]
        store.stored.pop(gone.key)


def test_jobs_whose_return_is_interrupted_can_no_longer_be_acked(queue, store, monkeypatch):
    queue.add_all([*"ab"])

    def interrupted(*_):
        raise KeyboardInterrupt

    with expects(KeyboardInterrupt), queue.take(2, wait=0) as jobs:
        monkeypatch.setattr(store, "give_back", interrupted)
        raise ValueError
    for job in jobs:
        with pytest.raises(InvalidRequest, match="no longer"):
            jobs.ack(job)

    assert names(queue.in_progress()) == ["a", "b"]
