"""A session is live while its heartbeats arrive, and dead for ever after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import (
    Member,
)
from tests.contract.queue.calls import LATER, NOW, OTHER, QUEUE


@pytest.fixture
def member() -> Member:
    return Member("s1", True, LATER, 5_000_000, "host", 42, NOW)


def test_a_session_is_read_as_it_was_stored(store, member):
    visitor = replace(member, id="s2", beats=False)
    store.enter(QUEUE, member)
    store.enter(QUEUE, visitor)
    store.enter(OTHER, replace(member, id="s3"))

    assert sorted(store.members(QUEUE), key=lambda m: m.id) == [member, visitor]


def test_a_heartbeat_changes_a_live_session_only(store, member):
    assert not store.beat(QUEUE, "s1", LATER)
    assert store.members(QUEUE) == []
    store.enter(QUEUE, member)

    assert store.beat(QUEUE, "s1", LATER + 1)
    assert store.members(QUEUE) == [replace(member, heartbeats=1, expires_us=LATER + 1)]


def test_a_dead_session_never_beats_again(store, member):
    store.enter(QUEUE, member)

    assert store.end_session(QUEUE, "s1", 0)
    assert not store.beat(QUEUE, "s1", LATER + 1)
    store.enter(QUEUE, member)

    assert store.members(QUEUE) == [replace(member, live=False)]


def test_a_session_leaves_whatever_its_heartbeat_and_one_that_is_gone_has_left(store, member):
    store.enter(QUEUE, member)
    store.beat(QUEUE, "s1", LATER)

    assert [store.end_session(QUEUE, name, None) for name in ("s1", "unknown")] == [True, True]
    assert len(store.members(QUEUE)) == 1


def test_only_a_dead_session_is_forgotten(store, member):
    store.enter(QUEUE, member)
    store.forget(QUEUE, "s1")

    assert store.members(QUEUE) == [member]
    store.end_session(QUEUE, "s1", None)
    store.forget(QUEUE, "s1")
    store.forget(QUEUE, "s1")

    assert store.members(QUEUE) == []


def test_some_sessions_are_read_and_peeked_at_by_their_ids(store, member):
    for name in ("a", "b", "c"):
        store.enter(QUEUE, replace(member, id=name))

    for read in (store.some_members, store.peek):
        assert sorted(member.id for member in read(QUEUE, ["a", "c", "d"])) == ["a", "c"]
        assert read(QUEUE, []) == []
    assert sorted(member.id for member in store.peek(QUEUE, None)) == ["a", "b", "c"]


def test_changes_of_the_sessions_are_counted_beside_the_config(store):
    store.count_change(QUEUE)
    before = store.peek_config(QUEUE)
    store.create(QUEUE, QueueConfig(4))
    created = store.peek_config(QUEUE)
    store.count_change(QUEUE)
    store.reconfigure(QUEUE, QueueConfig(8, revision=1))
    store.count_change(QUEUE)

    assert (before, created, store.peek_config(QUEUE)) == ((-1, 0), (0, 0), (1, 2))
    assert store.config(QUEUE) == QueueConfig(8, revision=1)
