"""A progress token reads the progress of its batch, until it expires, at a bounded cost, and nothing else."""

from __future__ import annotations

import string
from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest, NotFound
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.progress import PAGES_A_GLIMPSE, glimpse
from fanin.tracker.reads.progress_tokens import ProgressToken
from fanin.tracker.reads.watching import pause_after
from fanin.tracker.rules.model import BatchKey, Progress, State
from tests.tracker.calls import HOUR, START, ack, opened
from tests.tracker.page_store import PageStore, filled
from tests.tracker.stored import BATCH

SECOND = timedelta(seconds=1)
OTHER = "00000000-0000-4000-8000-000000000020"
NONE = Progress(0, 0, 0, 0, exact=True)
TOKEN = str(ProgressToken.of(BATCH, START + HOUR))


def is_good(text, batch=BATCH):
    token = ProgressToken.parse(text)
    return token is not None and token.is_of(batch)


def test_a_token_with_any_change_is_of_no_batch():
    others = string.ascii_letters + string.digits + "-_.=\n"
    changed = {TOKEN[:at] + other + TOKEN[at + 1 :] for at in range(len(TOKEN)) for other in others}
    shorter = {TOKEN[:at] + TOKEN[at + 1 :] for at in range(len(TOKEN))}

    assert is_good(TOKEN)
    assert [text for text in (changed | shorter | {f"{TOKEN}\n"}) - {TOKEN} if is_good(text)] == []


@pytest.mark.parametrize("tenant", ["", "a\nb", "a\x00", "x" * 256])
def test_what_can_be_no_tenant_is_in_no_token(tenant):
    assert ProgressToken.parse(str(ProgressToken.of(replace(BATCH, tenant=tenant), START + HOUR))) is None


@pytest.mark.parametrize("tenant", ["t", "acme/é #1", "x" * 255])
def test_a_token_is_of_one_batch_of_one_tenant_under_its_salt_alone(tenant):
    batch = replace(BATCH, tenant=tenant)
    token = str(ProgressToken.of(batch, START + HOUR))

    assert is_good(token, batch)
    for other in ({"tenant": "another"}, {"batch_id": OTHER}, {"salt": b"another salt...."}):
        assert not is_good(token, replace(batch, **other))


def refused(tracker, token):
    with pytest.raises(NotFound) as error:
        tracker.watched(str(token))
    return str(error.value)


def test_a_token_shows_its_batch_until_it_expires_or_the_batch_is_gone(tracker, clock):
    batch_id, group = opened(tracker, 8)
    ack(tracker, batch_id, group, 0, 1)
    hour, day = (tracker.progress_token("t", batch_id, hours * HOUR) for hours in (1, 24))
    seen = tracker.watched(str(hour))

    assert (seen.batch.batch_id, seen.progress.acked, seen.batch.total) == (batch_id, 2, 8)
    assert seen.retry_after is not None
    clock.at += HOUR
    texts = {refused(tracker, hour)}
    tracker.cancel("t", batch_id)
    clock.at += SECOND
    assert tracker.watched(str(day)).retry_after is None
    tracker.confirm(tracker.store.get(BatchKey("t", batch_id)))
    tracker.delete("t", batch_id)
    clock.at += SECOND
    assert texts | {refused(tracker, day), refused(tracker, "no token")} == texts


def test_a_token_lasts_a_second_to_seven_days(tracker):
    batch_id, _ = opened(tracker)
    for wrong in (timedelta(0), timedelta(days=7, seconds=1)):
        with pytest.raises(InvalidRequest):
            tracker.progress_token("t", batch_id, wrong)


class ReadOnly(MemoryStore):
    """Counts the reads of batches and pages; has no other call."""

    def __init__(self, stored):
        self.stored, self.reads = stored, []

    def __getattribute__(self, name):
        if name not in ("get", "glance", "stored", "reads"):
            raise AssertionError(f"a watcher calls {name}")
        return super().__getattribute__(name)

    def get(self, key):
        self.reads.append("get")
        return self.stored.get(key)

    def glance(self, keys, bits):
        self.reads.append("glance")
        return self.stored.glance(keys, bits)


def test_watchers_of_a_second_share_one_read_forged_tokens_read_no_page_and_nothing_is_written(
    tracker, clock
):
    batch_id, group = opened(tracker, 3, deadline=HOUR)
    ack(tracker, batch_id, group, 0)
    token = tracker.progress_token("t", batch_id, 2 * HOUR)
    expired = ProgressToken.of(tracker.get("t", batch_id), clock.at - SECOND)
    watching = replace(tracker, store=ReadOnly(tracker.store))

    refused(watching, expired)
    assert watching.store.reads == []
    refused(watching, replace(token, signature="A" * 43))
    assert watching.store.reads == ["get"]
    assert {watching.watched(str(token)).progress.acked for _ in range(1_000)} == {1}
    refused(watching, replace(token, signature="A" * 43))
    assert watching.store.reads == ["get", "get", "glance"]
    clock.at += HOUR + SECOND  # its deadline has passed, and a watcher does not end it
    assert watching.watched(str(token)).retry_after is not None


def test_a_glimpse_reads_few_pages_of_a_huge_batch_and_is_near():
    leaves = {(0, number): filled(number % 1024) for number in range(977)}
    store = PageStore(leaves)
    found = glimpse(store, replace(BATCH, page_bits=1024, total=977 * 1024))

    assert len(store.numbers(0)) == PAGES_A_GLIMPSE
    assert found.estimate / (977 * 1024) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(("age", "least"), [(-5, 1), (0, 1), (60, 1), (300, 5), (900, 15), (10**6, 15)])
def test_a_pause_is_a_sixtieth_of_the_age_from_1_to_15_seconds_and_up_to_a_fifth_of_chance(age, least):
    at = BATCH.created_at + timedelta(seconds=age)

    assert pause_after(BATCH, NONE, at, 0.0) == least
    assert pause_after(BATCH, NONE, at, 0.999) == pytest.approx(least * 1.2, abs=0.1)


@pytest.mark.parametrize(
    ("age", "done", "seconds"),
    [(300, 50, 5), (300, 99, 1), (3600, 50, 15), (3600, 99, 9.1), (3600, 100, 3), (10**6, 100, 15)],
)
def test_a_pause_is_shorter_near_the_end_of_a_closed_batch(age, done, seconds):
    at, count = BATCH.created_at + timedelta(seconds=age), Progress(done, 0, done, done, exact=True)
    batch = replace(BATCH, total=100)

    assert pause_after(batch, count, at, 0.0) == seconds
    assert pause_after(replace(batch, state=State.OPEN), count, at, 0.0) == min(age / 60, 15)
