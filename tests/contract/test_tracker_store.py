"""What every store promises the tracker, each promise written once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fanin.tracker import Batch, BatchKey, Group, Retention, State, TrackerStore
from fanin.tracker.model import Mode, PageKey, Query, Receipt, Sample, Turn, shard_of
from fanin.tracker.page import Page, mask_of

NOW = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")
LEAF = PageKey(KEY, 0, 3)
FULL = mask_of(0, 1023)


@pytest.fixture
def batch() -> Batch:
    return Batch(
        tenant=KEY.tenant,
        batch_id=KEY.batch_id,
        state=State.OPEN,
        mode=Mode.EXACT,
        user_key="käy 🎈",
        total=0,
        failed=0,
        page_bits=1024,
        salt=b"0123456789abcdef",
        fingerprint="f",
        retention=Retention(),
        created_at=NOW,
        expires_at=NOW + timedelta(days=7),
    )


def receipt(start: int, count: int, key: str = "k") -> Receipt:
    return Receipt(key, start, count)


def reserve(store: TrackerStore, seen: Batch, wanted: Receipt) -> Receipt | None:
    return store.reserve(seen, wanted, Group("g", wanted.count))


def close(store: TrackerStore, at: datetime = NOW) -> Batch | None:
    return store.turn(KEY, Turn(State.CLOSED, at, LATER, LATER, expected=True))


def complete(store: TrackerStore, caller: str, at: datetime = NOW) -> Batch | None:
    return store.turn(KEY, Turn(State.COMPLETE, at, LATER, LATER, caller=caller))


def page(store: TrackerStore) -> Page:
    return store.pages([LEAF])[LEAF]


def test_a_batch_is_read_as_it_was_stored(store, batch):
    store.create(batch)

    assert store.get(KEY) == batch


def test_a_batch_without_a_user_key_is_read_without_one(store, batch):
    store.create(replace(batch, user_key=None))

    assert store.get(KEY) == replace(batch, user_key=None)


def test_the_first_batch_of_a_key_stays(store, batch):
    store.create(batch)

    assert store.create(replace(batch, salt=b"another salt....")) == batch
    assert store.get(KEY) == batch


def test_a_batch_that_is_not_there_is_none(store):
    assert store.get(KEY) is None
    assert close(store) is None
    assert complete(store, "me") is None
    assert store.get(KEY) is None


def test_a_reservation_grows_the_batch_and_leaves_a_receipt(store, batch):
    store.create(batch)

    assert reserve(store, batch, receipt(0, 10)) == receipt(0, 10)
    assert store.get(KEY) == replace(batch, total=10)
    assert store.receipt(KEY, "k") == receipt(0, 10)


def test_a_receipt_that_is_not_there_is_none(store, batch):
    store.create(batch)

    assert store.receipt(KEY, "k") is None


def test_the_same_key_is_answered_with_its_first_reservation(store, batch):
    store.create(batch)
    reserve(store, batch, receipt(0, 10))

    assert reserve(store, replace(batch, total=10), receipt(10, 5)) == receipt(0, 10)
    assert store.get(KEY).total == 10


def test_a_reservation_over_a_total_that_has_moved_changes_nothing(store, batch):
    store.create(batch)
    reserve(store, batch, receipt(0, 10, "first"))

    assert reserve(store, batch, receipt(0, 5, "second")) is None
    assert store.get(KEY).total == 10
    assert store.receipt(KEY, "second") is None


def test_a_closed_batch_refuses_reservations(store, batch):
    store.create(batch)
    close(store)

    assert reserve(store, batch, receipt(0, 10)) is None
    assert store.get(KEY).total == 0


def test_close_happens_once_and_keeps_its_time(store, batch):
    store.create(batch)
    closed = replace(batch, state=State.CLOSED, closed_at=NOW, expires_at=LATER, due_at=LATER)

    assert close(store) == closed
    assert close(store, LATER) == closed


def test_an_open_batch_does_not_complete(store, batch):
    store.create(batch)

    assert complete(store, "me") == batch
    assert store.get(KEY) == batch


def test_the_first_to_complete_a_closed_batch_is_named_for_ever(store, batch):
    store.create(batch)
    close(store)
    first = complete(store, "first")

    assert (first.state, first.completed_by, first.completed_at) == (State.COMPLETE, "first", NOW)
    assert complete(store, "second", LATER) == first


def test_a_complete_batch_is_not_closed_again(store, batch):
    store.create(batch)
    close(store)
    done = complete(store, "first")

    assert close(store, LATER) == done


def test_an_absent_page_is_not_among_the_pages(store):
    assert store.pages([LEAF]) == {}


def test_bits_are_added_and_counted(store):
    store.add_bits(LEAF, 0b101, LATER)
    written = store.add_bits(LEAF, 1 << 17 | 1 << 1023, LATER)

    assert written.applied
    assert written.page == page(store) == Page(bits=0b101 | 1 << 17 | 1 << 1023, n=4)


@pytest.mark.parametrize("neighbour", range(6))
def test_neighbours_in_one_digit_are_added_without_conflict(store, neighbour):
    others = 0b111111 & ~(1 << neighbour)
    store.add_bits(LEAF, others << 12, LATER)

    assert store.add_bits(LEAF, 1 << 12 + neighbour, LATER).applied
    assert page(store) == Page(bits=0b111111 << 12, n=6)


def test_an_add_with_a_bit_that_is_set_changes_nothing_and_shows_the_page(store):
    store.add_bits(LEAF, 0b10, LATER)
    written = store.add_bits(LEAF, 0b11 | 1 << 900, LATER)

    assert not written.applied
    assert written.page == page(store) == Page(bits=0b10, n=1)


def test_a_bulk_write_sets_what_is_left_of_a_page(store):
    store.add_bits(LEAF, 0b1, LATER)
    seen = page(store)
    written = store.replace_bits(LEAF, seen, FULL & ~1, LATER)

    assert written.applied
    assert written.page == page(store) == Page(bits=FULL, n=1024)


def test_a_bulk_write_makes_a_page_that_is_not_there(store):
    assert store.replace_bits(LEAF, Page(), FULL, LATER).applied
    assert page(store) == Page(bits=FULL, n=1024)


def test_a_bulk_write_over_a_page_that_has_moved_changes_nothing(store):
    store.add_bits(LEAF, 0b1, LATER)
    written = store.replace_bits(LEAF, Page(), FULL & ~1, LATER)

    assert not written.applied
    assert written.page == page(store) == Page(bits=1, n=1)


def test_a_bulk_write_to_a_page_that_close_has_marked_is_applied(store):
    seen = store.mark_tail(LEAF, 200, root=True, expires_at=LATER)

    assert store.replace_bits(LEAF, seen, mask_of(0, 199), LATER).page == Page(
        mask_of(0, 199), 200, 200, True
    )


def test_the_last_page_is_told_its_size_whether_it_is_there_or_not(store):
    assert store.mark_tail(LEAF, 5, root=False, expires_at=LATER) == Page(size=5)
    store.add_bits(LEAF, 0b1, LATER)

    assert store.mark_tail(LEAF, 5, root=False, expires_at=LATER) == Page(1, 1, 5)


def test_only_a_full_page_is_compacted(store):
    store.add_bits(LEAF, 0b1011, LATER)
    store.compact(LEAF, 4)

    assert page(store) == Page(bits=0b1011, n=3)


def test_a_compacted_page_has_its_count_and_no_digits(store):
    store.replace_bits(LEAF, Page(), FULL, LATER)
    store.compact(LEAF, 1024)
    store.compact(LEAF, 1024)

    assert page(store) == Page(n=1024, compacted=True)


def test_a_compacted_page_takes_no_write(store):
    store.replace_bits(LEAF, Page(), FULL, LATER)
    seen = page(store)
    store.compact(LEAF, 1024)
    compacted = Page(n=1024, compacted=True)

    assert store.add_bits(LEAF, 1, LATER) == type(store.add_bits(LEAF, 1, LATER))(compacted, applied=False)
    assert not store.replace_bits(LEAF, seen, 1, LATER).applied
    assert page(store) == compacted


def test_many_pages_are_read_at_once(store):
    keys = [PageKey(KEY, 0, number) for number in range(230)]
    for key in keys[::2]:
        store.add_bits(key, 1, LATER)

    assert store.pages(keys) == {key: Page(1, 1) for key in keys[::2]}


ENDINGS = [
    Turn(State.CANCELLED, NOW, LATER, LATER, reason="no longer wanted"),
    Turn(State.COMPLETE, NOW, LATER, LATER, caller="me", failures=0),
    Turn(State.TIMED_OUT, NOW, LATER, LATER, reason="deadline"),
    Turn(State.EXPIRED, NOW, LATER, LATER),
]


@pytest.mark.parametrize("turn", ENDINGS, ids=lambda turn: turn.to)
@pytest.mark.parametrize("closed", [False, True])
def test_a_live_batch_ends_once_and_for_ever(store, batch, turn, closed):
    store.create(replace(batch, deadline_at=NOW, expires_at=NOW))
    if closed:
        store.turn(KEY, Turn(State.CLOSED, NOW, NOW, LATER))
    ended = store.turn(KEY, turn)

    assert (ended.state, ended.ended_at, ended.end_reason) == (turn.to, NOW, turn.reason)
    assert store.get(KEY) == ended
    for other in ENDINGS:
        assert store.turn(KEY, replace(other, at=LATER)) == ended


@pytest.mark.parametrize("turn", ENDINGS[2:], ids=lambda turn: turn.to)
def test_nothing_ends_by_time_before_its_time(store, batch, turn):
    store.create(replace(batch, deadline_at=LATER, expires_at=LATER))

    assert store.turn(KEY, turn).state is State.OPEN


def test_a_batch_without_a_deadline_does_not_time_out(store, batch):
    store.create(batch)

    assert store.turn(KEY, ENDINGS[2]).state is State.OPEN


@pytest.mark.parametrize(("expected", "state"), [(11, State.OPEN), (10, State.CLOSED), (9, State.CLOSED)])
def test_close_waits_for_the_items_that_are_expected(store, batch, expected, state):
    batch = replace(batch, expected_items=expected)
    store.create(batch)
    reserve(store, batch, receipt(0, 10))

    assert close(store).state is state


def test_failures_end_a_batch_only_where_there_are_enough(store, batch):
    store.create(batch)
    store.fail_bits(LEAF, 0b11, LATER)
    turn = Turn(State.COMPLETE, NOW, LATER, LATER, caller="me", failures=3)

    assert store.turn(KEY, turn).state is State.OPEN
    assert store.turn(KEY, replace(turn, failures=2)).state is State.COMPLETE


def test_failures_are_marked_and_counted_together(store, batch):
    store.create(batch)
    store.add_bits(LEAF, 1, LATER)

    assert store.fail_bits(LEAF, 0b10 | 1 << 700, LATER)
    assert page(store) == Page(0b11 | 1 << 700, 3, failed=0b10 | 1 << 700)
    assert store.get(KEY).failed == 2


def test_a_failure_of_an_item_that_was_acked_changes_nothing(store, batch):
    store.create(batch)
    store.add_bits(LEAF, 1, LATER)

    assert not store.fail_bits(LEAF, 0b11, LATER)
    assert page(store) == Page(1, 1)
    assert store.get(KEY).failed == 0


def test_healing_takes_the_mark_and_the_count(store, batch):
    store.create(batch)
    store.fail_bits(LEAF, 0b111, LATER)

    assert store.heal_bits(LEAF, 0b101)
    assert page(store) == Page(0b111, 3, failed=0b010)
    assert store.get(KEY).failed == 1


def test_healing_what_did_not_fail_changes_nothing(store, batch):
    store.create(batch)
    store.fail_bits(LEAF, 0b01, LATER)
    store.add_bits(LEAF, 0b10, LATER)

    assert not store.heal_bits(LEAF, 0b11)
    assert page(store) == Page(0b11, 2, failed=0b01)
    assert store.get(KEY).failed == 1


def test_nothing_fails_or_heals_in_a_batch_that_has_ended(store, batch):
    store.create(batch)
    store.fail_bits(LEAF, 1, LATER)
    store.turn(KEY, ENDINGS[0])

    assert not store.fail_bits(LEAF, 0b10, LATER)
    assert not store.heal_bits(LEAF, 1)
    assert page(store) == Page(1, 1, failed=1)
    assert store.get(KEY).failed == 1


def test_a_climb_carries_the_mark_of_failures(store):
    store.add_bits(LEAF, 0b100, LATER, failed=0b100)

    assert page(store) == Page(0b100, 1, failed=0b100)


def test_compaction_keeps_the_marks_of_failures(store, batch):
    store.create(batch)
    store.fail_bits(LEAF, 0b10, LATER)
    store.add_bits(LEAF, 0b01, LATER)
    store.compact(LEAF, 2)

    assert page(store) == Page(0, 2, compacted=True, failed=0b10)


def test_counts_add_up_and_stop_at_compaction(store, batch):
    store.create(batch)
    store.add_count(LEAF, 5, LATER)

    assert store.fail_count(LEAF, 2, LATER) == type(store.add_count(LEAF, 0, LATER))(Page(n=7), applied=True)
    store.compact(LEAF, 7)
    assert not store.add_count(LEAF, 1, LATER).applied
    assert not store.fail_count(LEAF, 1, LATER).applied
    assert store.get(KEY).failed == 2


def test_a_live_batch_lives_longer_but_never_shorter(store, batch):
    store.create(batch)
    longer = batch.expires_at + timedelta(days=1)

    assert store.extend(KEY, LATER, LATER) == batch
    assert store.extend(KEY, longer, LATER) == replace(batch, expires_at=longer, due_at=LATER)


def test_an_ended_batch_does_not_live_longer(store, batch):
    store.create(batch)
    ended = store.turn(KEY, ENDINGS[0])

    assert store.extend(KEY, batch.expires_at + timedelta(days=1), LATER) == ended


def test_batches_are_due_in_order_and_by_shard(store, batch):
    first = replace(batch, due_at=NOW)
    second = replace(batch, batch_id=batch.batch_id[:-5] + "10001", due_at=NOW - timedelta(seconds=1))
    later = replace(batch, batch_id=batch.batch_id[:-5] + "20001", due_at=LATER)
    for each in (first, second, later):
        store.create(each)
    shard = shard_of(batch.batch_id)

    assert store.due(shard, NOW, 10) == [second.key, first.key]
    assert store.due(shard, NOW, 1) == [second.key]
    assert store.due((shard + 1) % 8, NOW, 10) == []


def test_a_batch_is_looked_at_later_or_never_unless_it_has_moved(store, batch):
    batch = replace(batch, due_at=NOW)
    store.create(batch)
    store.postpone(replace(batch, due_at=LATER), None)
    assert store.get(KEY).due_at == NOW
    store.postpone(batch, LATER)
    assert store.get(KEY).due_at == LATER
    store.postpone(store.get(KEY), None)

    assert store.get(KEY).due_at is None
    assert store.due(shard_of(KEY.batch_id), LATER, 10) == []


def test_an_event_is_announced_once_the_bus_has_confirmed_it(store, batch):
    store.create(batch)
    assert not store.announced(KEY)
    store.notice(batch, NOW)
    store.notice(batch, NOW)
    assert not store.announced(KEY)
    store.confirm(KEY, LATER)
    store.confirm(KEY, LATER)

    assert store.announced(KEY)
    assert store.get(KEY) == batch


def test_groups_are_found_from_any_item_of_theirs(store, batch):
    store.create(batch)
    for start, count, key in ((0, 10, "a"), (10, 1, "b"), (11, 2**36, "c")):
        seen = store.get(KEY)
        store.reserve(seen, receipt(start, count, key), Group(key, count))
    found = [(0, Group("a", 10)), (10, Group("b", 1)), (11, Group("c", 2**36))]

    assert store.groups(KEY, 0, 10) == found
    assert store.groups(KEY, 9, 2) == found[:2]
    assert store.groups(KEY, 10, 10) == found[1:]
    assert store.groups(KEY, 2**35, 10) == found[2:]
    assert store.groups(KEY, 2**37, 10) == []


def test_the_first_sample_keeps_its_slot(store):
    first, second = Sample("a", "böse", NOW), Sample("b", "worse", NOW)

    assert store.sample(KEY, 3, first, LATER) == first
    assert store.sample(KEY, 3, second, LATER) == first
    assert store.sample(KEY, 12, second, LATER) == second
    assert store.samples(KEY) == [first, second]


def listed(store, **query):
    defaults = {
        "tenant": KEY.tenant,
        "user_key": None,
        "shard": shard_of(KEY.batch_id),
        "state": None,
        "limit": 10,
    }
    return [found.batch_id[-5:] for found in store.listing(Query(**defaults | query))]


def test_lists_are_newest_first_filtered_and_go_on(store, batch):
    for number, at in enumerate((NOW, LATER, LATER)):
        store.create(replace(batch, batch_id=f"{batch.batch_id[:-5]}{number}0001", created_at=at))
    store.create(replace(batch, tenant="other", batch_id=batch.batch_id[:-5] + "90001"))
    store.create(replace(batch, user_key="b", batch_id=batch.batch_id[:-5] + "80001"))

    assert listed(store) == ["20001", "10001", "80001", "00001"]
    assert listed(store, user_key=batch.user_key) == ["20001", "10001", "00001"]
    assert listed(store, limit=1) == ["20001"]
    assert listed(store, before=(LATER, batch.batch_id[:-5] + "20001")) == ["10001", "80001", "00001"]
    assert listed(store, state=State.CLOSED) == []
    assert listed(store, shard=(shard_of(KEY.batch_id) + 1) % 8) == []


def test_a_key_stays_with_the_payload_that_it_first_came_with(store):
    assert store.remember("t", "close", "k", "first", LATER) == "first"
    assert store.remember("t", "close", "k", "second", LATER) == "first"
    assert store.remember("t", "close", "k", "first", LATER) == "first"


@pytest.mark.parametrize("other", [("u", "close", "k"), ("t", "cancel", "k"), ("t", "close", "K")])
def test_the_key_of_another_tenant_or_route_is_another_key(store, other):
    store.remember("t", "close", "k", "first", LATER)

    assert store.remember(*other, "second", LATER) == "second"


def test_a_remembered_key_is_no_batch_of_any_list(store, batch):
    store.create(batch)
    store.remember(KEY.tenant, "close", KEY.batch_id, "first", LATER)

    assert listed(store) == ["00001"]
    assert store.get(KEY) == batch


def test_no_tenant_is_listed_under_the_name_of_another(store, batch):
    store.create(replace(batch, tenant="X#b", user_key="secret"))

    assert listed(store, tenant="X", user_key="b#secret") == []
    assert len(listed(store, tenant="X#b", user_key="secret")) == 1


@pytest.mark.parametrize("store", ["dynamodb"], indirect=True)
def test_a_row_outlasts_the_pages_whatever_becomes_of_its_batch(store, batch):
    store.create(batch)
    store.turn(KEY, ENDINGS[0])
    store.add_bits(LEAF, 1, batch.pages_expire_at)
    row = store._row({"pk": {"S": str(KEY)}, "sk": {"S": "batch"}})

    assert int(row["ttl"]["N"]) > batch.pages_expire_at.timestamp()
