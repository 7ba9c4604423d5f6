"""The rules by themselves."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.grouper import (
    Bundle,
    BundleState,
    Isolation,
    Lane,
    Outcome,
    Policy,
    Task,
    TaskState,
    Verdict,
)
from fanin.grouper.dynamodb.items import bundle_of, outcomes_text, task_of
from fanin.grouper.dynamodb.requests import claim
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.ids import bundle_id, checked_bundle_id
from fanin.grouper.rules.order import order_of
from fanin.grouper.rules.rate import token
from fanin.grouper.settings.policy import SIZE_MAX

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LANE = Lane("t", "search", "0")
LATER = NOW + timedelta(days=1)


def bundle(*members, **facts):
    stored = Bundle(LANE, 7, BundleState.CALLING, members, 3, NOW, LATER, attempt=1)
    return replace(stored, **facts)


def task(name, **facts):
    stored = Task("t", name, "search", "0", TaskState.CREATED, "1", 0, None, 0, NOW, NOW, LATER)
    return replace(stored, **facts)


@given(st.integers(0, 300), st.integers(1, 98))
def test_chunks_keep_every_id_once_and_in_order(count, size):
    ids = [str(number) for number in range(count)]
    pieces = list(rules.chunks(ids, size))

    assert [name for piece in pieces for name in piece] == ids
    assert all(0 < len(piece) <= size for piece in pieces)


@pytest.mark.parametrize(("delay", "seconds"), [(-1, 0), (0, 0), (0.2, 1), (1, 1), (899.5, 900), (5000, 900)])
def test_a_delay_is_whole_seconds_that_the_queue_takes(delay, seconds):
    assert rules.seconds(timedelta(seconds=delay)) == seconds


@given(st.integers(2, 1000), st.sampled_from(Isolation))
def test_taking_apart_makes_every_part_smaller(size, isolation):
    refused = bundle(*(f"t{number}" for number in range(size)))
    shards = [rules.part_shard(refused, number, isolation) for number in range(size)]
    sizes = [shards.count(shard) for shard in set(shards)]

    assert max(sizes) <= ((size + 1) // 2 if isolation is Isolation.HALVES else 1)
    assert len(sizes) == (2 if isolation is Isolation.HALVES else size)
    assert all(Lane("t", "search", shard).is_part for shard in shards)


def test_parts_of_different_bundles_never_meet():
    first = rules.part_shard(bundle("a", "b"), 0, Isolation.SOLO)

    assert first != rules.part_shard(bundle("a", "b", fence=8), 0, Isolation.SOLO)


def test_details_are_short_and_plain():
    short = rules.shortened(Outcome(Verdict.FAIL, "line\nbreak\x00 \ud800" + "🎈" * 100)).detail

    assert len(short.encode()) <= rules.DETAIL_BYTES
    assert short.startswith("line break")
    assert short.isprintable()


def test_larger_priorities_and_earlier_times_sort_first():
    later = task("a", due_at=NOW + timedelta(microseconds=1))
    ordered = [task("z", priority=999, due_at=LATER), task("b", priority=1), task("a"), task("b"), later]

    assert sorted(random.Random(1).sample(ordered, 5), key=order_of) == ordered


def test_a_bundle_id_follows_from_lane_and_fence():
    assert checked_bundle_id(bundle_id(str(LANE), 7)) == bundle().bundle_id
    assert bundle_id(str(LANE), 8) != bundle().bundle_id


@pytest.mark.parametrize("text", ["", "x", "6F0A5A43-2F67-5A0E-9D0C-5A5B0F6A7D11", "{6f0a5a43}"])
def test_a_bundle_id_has_one_form(text):
    with pytest.raises(InvalidRequest):
        checked_bundle_id(text)


def test_a_bucket_gives_its_burst_and_then_its_rate():
    policy, full_at, given_at = Policy(rate=2.0, burst=3), None, []
    for tick in range(40):
        now = NOW + timedelta(seconds=tick / 10)
        taken = token(full_at, policy, now)
        if not taken.wait:
            full_at = taken.full_at
            given_at.append(tick / 10)

    assert given_at == [0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]


@pytest.mark.parametrize("full", ["🎈" * 100, '"' * 300, "\\" * 300], ids=["wide", "quotes", "slashes"])
def test_a_claim_fits_one_transaction_and_a_bundle_one_item(full):
    names = tuple(f"{number:064}" for number in range(SIZE_MAX))
    request = claim("T", "B", bundle(*names, version=2), names[:98])
    said = rules.verdicts(
        bundle(*names), Outcome(Verdict.OK), {n: Outcome(Verdict.FAIL, full) for n in names}, 3
    )

    assert len(request["TransactItems"]) == 99
    assert sum(len(n) + 1 for n in names) + len(outcomes_text(said)["S"].encode()) < 300_000


def test_rows_with_little_in_them_are_read():
    row = {
        "tenant": {"S": "t"},
        "target": {"S": "search"},
        "shard": {"S": "0"},
        "fence": {"N": "7"},
        "state": {"S": "READY"},
        "version": {"N": "1"},
        "attempt": {"N": "0"},
        "createdAt": {"N": "0"},
        "expiresAt": {"N": "0"},
    }

    assert bundle_of(row).is_void
    with pytest.raises(KeyError):
        task_of(row)
