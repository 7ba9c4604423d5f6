"""The fake client: production's answers and events, at the times at which they come."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from fanin import AsyncFanin, Fanin, InvalidRequest, LostClaim, NotFound, Retention, State, send
from fanin.queue import NewJob
from fanin.testing import FakeFanin, deliver
from fanin.testing.sent import SentMessages
from tests.forks import forked, status_of

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = timedelta(hours=1)


@pytest.fixture
def fake() -> FakeFanin:
    return FakeFanin(page_bits=4, at=AT)


def ended(fake) -> list[tuple[str, str]]:
    return [(event["detailType"], event["endedAt"]) for event in fake.events]


def test_each_end_has_one_event_at_its_own_time_and_sweeps_send_no_other(fake):
    late = fake.open("late", deadline=6 * HOURS)
    late.add(9)
    forgotten = fake.open(retention=Retention(open=8 * HOURS))
    with fake.open() as completed:
        items = completed.add(5)
    fake.ack(items)
    fake.clock.advance(hours=24)

    assert ended(fake) == [
        ("BatchCompleted", "2026-03-01T12:00:00.000Z"),
        ("BatchTimedOut", "2026-03-01T18:00:00.000Z"),
        ("BatchExpired", "2026-03-01T20:00:00.000Z"),
    ]
    assert late.status().ended_at == AT + 6 * HOURS
    with pytest.raises(NotFound):
        forgotten.status()
    assert fake.clock.now() == AT + 24 * HOURS


def test_the_event_is_the_one_on_the_bus(fake):
    with fake.open("catalog-7", labels={"team": "search"}) as batch:
        items = batch.add(6)
    fake.fail(items[:1], "no picture")
    batch.cancel("not needed")
    (event,) = fake.events

    assert event["eventId"] == f"{batch.id}:CANCELLED"
    assert (event["userKey"], event["labels"], event["reason"]) == (
        "catalog-7",
        {"team": "search"},
        "not needed",
    )
    assert (event["total"], event["acked"], event["failed"], event["outstanding"]) == (6, 1, 1, 5)


def test_a_notify_sends_the_event_again_under_its_id(fake):
    batch = fake.open()
    batch.cancel()
    event_id = batch.notify()

    assert [event["eventId"] for event in fake.events] == [event_id] * 2


def test_thresholds_are_reported_as_their_checks_find_them(fake):
    batch = fake.open(notify_at=["firstFailure", "50%"], stuck_after=HOURS)
    items = batch.add(4)
    fake.fail(items[:1])
    batch.close()
    fake.ack(items[1:2])
    fake.clock.advance(minutes=90)
    fake.ack(items[2:])

    *reported, end = fake.events
    assert [event["detailType"] for event in reported] == ["BatchProgress"] * 3
    assert [event["eventId"].partition(":")[2] for event in reported] == ["first_failure", "50", "stuck:1"]
    assert end["detailType"] == "BatchCompleted"


def test_a_parent_ends_with_its_children(fake):
    with fake.open("book") as book:
        (chapter,) = book.add(1)
    fake.open("pages", parent=chapter, deadline=2 * HOURS)

    fake.clock.advance(3 * HOURS)

    assert [event["userKey"] for event in fake.events] == ["pages", "book"]
    assert book.status().result == "completed_with_failures"


def test_an_event_that_is_read_is_the_readers_own_list(fake):
    fake.open().cancel()
    fake.events.clear()

    assert len(fake.events) == 1


def test_an_ended_batch_is_deleted_although_its_events_were_not_read(fake):
    fake.open("one").cancel()
    with fake.open("two") as two:
        fake.ack(two.add(1))
    two.delete()

    assert fake.delete_ended(AT + HOURS).deleted == 1
    assert list(fake.batches()) == []
    assert [event["userKey"] for event in fake.events] == ["one", "two"]


def test_rows_are_deleted_by_age(fake):
    fake.open().cancel()
    fake.clock.advance(days=500)

    assert fake.store.batches == {}


def test_a_clock_stands_still_and_never_goes_back(fake):
    assert fake.clock.now() == fake.clock.now() == AT
    assert fake.clock.advance() == AT
    assert fake.clock.advance(timedelta(minutes=1), seconds=30) == AT + timedelta(seconds=90)
    with pytest.raises(ValueError, match="forward"):
        fake.clock.advance(hours=-1)


def test_without_a_time_the_clock_starts_at_the_present():
    before = datetime.now(UTC)

    assert before <= FakeFanin().clock.now() <= datetime.now(UTC)


def test_a_wait_moves_the_clock_to_the_end(fake):
    batch = fake.open(deadline=HOURS)

    assert batch.wait().state is State.TIMED_OUT
    assert HOURS <= fake.clock.now() - AT <= HOURS + timedelta(minutes=1)


def test_a_wait_that_nothing_ends_times_out_or_finds_the_batch_expired(fake):
    with fake.open() as batch:
        batch.add(1)

    with pytest.raises(TimeoutError):
        batch.wait(timeout=60)
    with pytest.raises(NotFound):
        batch.wait()
    assert timedelta(days=14) <= fake.clock.now() - AT < timedelta(days=15)


def test_coroutines_wait_on_it_too(fake):
    client = AsyncFanin(fake)

    async def work():
        async with client.open(deadline=HOURS) as batch:
            items = await batch.add(2)
        waiting = asyncio.create_task(batch.wait())
        await client.ack(items)
        return await waiting

    assert asyncio.run(work()).result == "succeeded"


def test_it_stands_in_for_a_client_and_all_that_the_client_made_before(fake):
    fanin = Fanin("http://127.0.0.1:1")
    worked = []
    handler = fanin.acks(worked.append)
    with fake.in_place_of(fanin) as lent:
        with fanin.open("theirs") as batch:
            items = batch.add(1)
        event = {"Records": [{"messageId": "m", "body": items[0]}]}
        assert lent is fake
        assert handler(event, None) == {"batchItemFailures": []}
        assert fanin.wait(batch.id, timeout=5) == fake.status(batch.id)

    assert len(worked) == 1
    assert [event["userKey"] for event in fake.events] == ["theirs"]


def test_after_the_block_the_client_has_its_own_transport_again_and_blocks_nest(fake):
    fanin, own = Fanin(), FakeFanin()
    with own.in_place_of(fanin):
        with suppress(KeyError), fake.in_place_of(fanin):
            fanin.open("inner")
            raise KeyError
        fanin.open("outer")

    assert [batch.user_key for batch in fake.batches()] == ["inner"]
    assert [batch.user_key for batch in own.batches()] == ["outer"]
    with pytest.raises(InvalidRequest, match="FANIN_URL"):
        fanin.open()


def test_its_queues_are_those_of_the_clients_it_stands_in_for(fake):
    fanin = Fanin("http://127.0.0.1:1")
    with fake.open() as batch:
        items = batch.add(2)
    with fake.in_place_of(fanin), fanin.queue("thumbs") as queue:
        assert queue.ensure().parts == 8
        for number, item in enumerate(items):
            queue.add(NewJob(f"thumb-{number}", item_id=item))
        with fake.queue("thumbs") as same, same.take(10, wait=0) as jobs:
            assert sorted(job.key for job in jobs) == ["thumb-0", "thumb-1"]

    assert batch.status().result == "succeeded"


def test_a_job_of_a_session_that_a_jump_of_the_clock_ended_runs_again(fake):
    with fake.queue("thumbs") as queue:
        queue.add("one")
        scope = queue.take(1, wait=0)
        scope.__enter__()
        fake.clock.advance(hours=1)
        with queue.take(1, wait=0) as again:
            assert [job.key for job in again] == ["one"]
        with pytest.raises(LostClaim):
            scope.__exit__(None, None, None)


def test_what_a_program_sends_in_the_block_is_kept_for_its_handlers(fake, monkeypatch):
    own, outside, worked = Fanin("http://127.0.0.1:1"), SentMessages(), []
    monkeypatch.setattr("fanin.aws.clients.sqs", lambda: outside)
    with fake.in_place_of(own):
        with own.open() as batch:
            items = batch.add(70)
            send("https://sqs.eu-west-1.amazonaws.com/1/rows", items[:35], range(35))
            send("rows", items[35:], range(35, 70), chunk=8)
        deliver(own.acks_each(lambda item: worked.append(item.row)), fake.sent["rows"])
        assert batch.status().result == "succeeded"
    send("rows", items[:1], ["outside of the block"])

    assert sorted(worked) == [*range(70)]
    assert (len(fake.sent["rows"]), len(outside["rows"]), fake.sent["other"]) == (40, 1, ())


def test_a_batch_of_the_block_that_is_used_after_it_says_so(fake):
    own = Fanin()
    with fake.in_place_of(own):
        batch = own.open()
    with pytest.raises(InvalidRequest) as refused:
        batch.status()

    assert "the block of in_place_of has ended" in refused.value.__notes__[0]


def test_what_it_lacks_is_refused(fake):
    for call in (
        lambda: fake.task("orders", {}),
        lambda: list(fake.queues()),
        lambda: fake.in_place_of("a client").__enter__(),
        lambda: FakeFanin(page_bits=1),
        lambda: FakeFanin(tenant=7),
    ):
        with pytest.raises(InvalidRequest):
            call()


def test_a_forked_child_is_refused_because_its_calls_would_be_lost():
    fake, own = FakeFanin(), Fanin("http://127.0.0.1:1")
    item = fake.open().add(1)[0]

    def child():
        for client in (fake, own):
            with pytest.raises(InvalidRequest, match="one process"):
                client.fail([item])

    with fake.in_place_of(own):
        assert status_of(forked(child)) == 0
