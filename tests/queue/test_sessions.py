"""When a session is over, how long its row is kept, and who watches and reads which sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from moto import mock_aws

from fanin.errors import StoreUnavailable
from fanin.queue import Effects
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.model import Member
from fanin.queue.rules.part_owners import CROWD, change_seconds, look_seconds, neighbours
from fanin.queue.sessions.session import enter
from lab.requests.watching import units_a_second
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.queue.conftest import KEY, START, session_of, unavailable


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


def test_a_session_whose_process_stood_still_before_it_was_stored_creates_its_queue_anew(bench):
    """The queue was removed meanwhile, and its row counts the changes of the sessions."""

    def stand_still():
        bench.time.sleep(3600)
        bench.store.real.configs.clear()
        return "late"

    effects = replace(bench.context.effects, new_id=stand_still)
    session = enter(replace(bench.context, effects=effects), None)

    assert (session.id, bench.store.real.config(KEY)) == ("late", QueueConfig(1))


def test_a_heartbeat_that_comes_back_too_late_does_not_revive_its_session(bench):
    beat = bench.store.real.beat

    def slow(*asked):
        bench.time.sleep(4)
        return beat(*asked)

    bench.store.scripts["beat"] = slow

    assert (bench.session.beat(), bench.session.confirmed_at) == (False, 0.0)


DAY_SECONDS = 24 * 60 * 60


@pytest.fixture
def table():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        yield DynamoStore(client, QUEUE_TABLE)


def deleted_at(table) -> int:
    """Return the second at which DynamoDB may delete the one row of the table."""
    (row,) = table.client.scan(TableName=QUEUE_TABLE)["Items"]
    return int(row["ttl"]["N"])


def test_the_row_of_a_session_is_kept_for_a_day_after_the_expiry_of_its_last_heartbeat(table):
    expires_us = START + 5_000_000
    table.enter(KEY, Member("s1", True, expires_us, 5_000_000, "host", 1, START))
    entered = deleted_at(table)
    table.beat(KEY, "s1", expires_us + 90_000_000)

    assert entered == expires_us // 1_000_000 + DAY_SECONDS
    assert deleted_at(table) == entered + 90


LARGE = CROWD + 6


def entered(make, count):
    """Return so many queues of one process each, whose sessions have read each other's."""
    queues = [make(parts=8) for _ in range(count)]
    for queue in queues:
        with queue.take(wait=0):
            pass
    for queue in queues:
        queue.taker.worker.maintenance.read_members()
    return queues


@pytest.mark.parametrize(
    ("sessions", "me", "watched"),
    [
        ("abcd", "a", "bc"),
        ("abcd", "c", "da"),
        ("abcd", "d", "ab"),
        ("ab", "a", "b"),
        ("a", "a", ""),
        ("abd", "c", "da"),
        ("", "c", ""),
    ],
)
def test_a_session_watches_the_two_that_follow_it_on_the_ring(sessions, me, watched):
    assert neighbours(list(sessions), me) == list(watched)


@pytest.mark.parametrize("end", ["leaves", "is ended", "comes"])
def test_a_session_that_goes_or_comes_is_noticed_by_those_that_do_not_watch_it(make, store, time, end):
    queues = entered(make, LARGE)
    ring = sorted(queues, key=lambda queue: session_of(queue).id)
    watching = ring[0].taker.worker.maintenance.watching
    gone = ring[10]
    if end == "leaves":
        gone.close()
    elif end == "comes":
        make(parts=8).take(wait=0).__enter__()
    else:
        maintenance = ring[9].taker.worker.maintenance
        maintenance._end(next(m for m in watching.members if m.id == session_of(gone).id))
    time.sleep(1)
    watching.look()

    assert len(watching.members) == LARGE + (1 if end == "comes" else -1)


def test_where_one_of_two_neighbours_crashed_others_that_crashed_with_it_are_noticed(make, time):
    first, beating, crashed, *others = sorted(entered(make, LARGE), key=lambda queue: session_of(queue).id)
    watching = first.taker.worker.maintenance.watching
    for _ in range(5):
        time.sleep(1)
        assert session_of(first).beat()
        assert session_of(beating).beat()
        noticed = {member.id for member in watching.expired(watching.look())}

    assert noticed == {session_of(queue).id for queue in (crashed, *others)}


def test_a_workers_read_units_do_not_grow_with_the_number_of_workers():
    each = {workers: units_a_second(workers, seconds=30)[0] / workers for workers in (10, CROWD + 1, 120)}

    assert max(each.values()) <= 3
    assert units_a_second(120, seconds=1)[1] / 120 > 8


@pytest.mark.parametrize(("sessions", "seconds"), [(5, 0.5), (LARGE, look_seconds(LARGE))])
def test_a_change_that_was_not_counted_is_seen_at_once_in_a_small_group_and_later_in_a_large_one(
    make, store, time, sessions, seconds
):
    first, *_, ended = entered(make, sessions)
    del store.sessions[KEY][session_of(ended).id]
    time.sleep(seconds)
    first.taker.worker.maintenance.watching.look()

    assert len(first.taker.worker.maintenance.watching.members) == sessions - 1


def test_a_large_group_that_changes_all_the_time_is_read_as_rarely_as_it_is_large(make, store, time):
    (first,) = entered(make, 1)
    watching = first.taker.worker.maintenance.watching
    for number in range(99):
        store.enter(KEY, Member(f"other {number}", True, 10**18, 10**12, "host", 1, START))
    watching.read_all()
    store.requests.clear()
    for _ in range(10):
        store.count_change(KEY)
        time.sleep(1)
        watching.look()

    assert 3 <= store.requests.count("members") <= 10 / change_seconds(100)


def test_a_heartbeat_without_an_answer_ends_no_session(bench):
    bench.store.scripts["beat"] = unavailable

    assert bench.session.beat()
    bench.time.sleep(4)
    assert not bench.session.beat()


def test_a_session_whose_heartbeat_is_refused_is_over(bench):
    bench.store.real.end_session(KEY, bench.session.id, None)

    assert not bench.session.beat()
    assert not bench.session.alive()
    assert Maintenance(bench.context, bench.session).tick() is False


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


def test_an_idempotent_request_without_an_answer_is_sent_four_times():
    sent, pauses = [], []

    def request():
        sent.append(len(pauses))
        unavailable()

    with pytest.raises(StoreUnavailable):
        Effects(pause=pauses.append).answer_of(request)

    assert sent == [0, 1, 2, 3]
