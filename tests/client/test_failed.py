"""``Failed``: a function fails its item for good, at once, without another attempt."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context

import pytest

from fanin import AsyncQueue, Failed, Fanin, InvalidRequest, LostClaim, NewJob
from fanin.client.consuming.steps import take, take_in_task
from fanin.client.queues.job_acks import acking
from fanin.client.sqs_worker.handlers import consumer_of
from fanin.testing import FakeFanin, deliver
from tests.client.conftest import answers, lost_before, sqs_event, work_queue
from tests.client.received import DELETED, RETURNED, acked, delivered, received
from tests.forks import forked, status_of
from tests.queue.conftest import expects, shown

REASON = "not a JPEG"


class NoPicture(Failed):
    """A failure of the user's own class, whose constructor takes more than a text."""

    def __init__(self, *, size):
        super().__init__(f"{size} bytes are no picture")
        self.size = size


def fail(*_):
    raise Failed(REASON)


def fail_sized(*_):
    raise NoPicture(size=3)


async def in_a_coroutine():
    fail()


async def beside_others():
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(60))
        group.create_task(in_a_coroutine())


def by_the_client():
    raise Fanin.Failed(REASON)


def from_another():
    try:
        int("no magic number")
    except ValueError as error:
        raise Failed(REASON) from error


def in_a_pool():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fail).result()


@cache
def another_process():
    return ProcessPoolExecutor(1, get_context("spawn"))


@pytest.fixture(scope="module", autouse=True)
def ended_process():
    yield
    if another_process.cache_info().currsize:
        another_process().shutdown()


def in_a_process():
    another_process().submit(fail).result()


WAYS = {
    "raise": fail,
    "of the client": by_the_client,
    "coroutine": lambda: asyncio.run(in_a_coroutine()),
    "task group": lambda: asyncio.run(beside_others()),
    "from another exception": from_another,
    "pool": in_a_pool,
    "process": in_a_process,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_item_fails_with_the_reason_of_its_function_and_its_message_is_deleted(fanin, batch, way, caplog):
    item = batch.items[1]

    assert delivered(fanin, item, lambda _: WAYS[way]()) == DELETED
    assert acked(batch) == (1, 1)
    assert [(each.item_id, each.reason) for each in batch.samples()] == [(item, REASON)]
    (line,) = (record for record in caplog.records if record.name == "fanin")
    assert (line.levelno, line.exc_info) == (logging.WARNING, None)
    assert line.getMessage() == f"item {item} is failed for good by its function: {REASON}"


@pytest.mark.parametrize(
    ("error", "reason"), [(Failed, "Failed"), (NoPicture(size=0), "0 bytes are no picture")]
)
def test_the_reason_is_the_text_alone_or_the_name_of_the_class(fanin, batch, error, reason):
    def work(_):
        raise error

    assert delivered(fanin, batch.items[0], work) == DELETED
    assert [each.reason for each in batch.samples()] == [reason]


def test_a_failure_of_the_users_own_class_comes_back_from_another_process():
    with pytest.raises(NoPicture) as error:
        another_process().submit(fail_sized).result()
    assert (str(error.value), error.value.size) == ("3 bytes are no picture", 3)


def test_of_a_group_of_exceptions_one_failure_for_good_is_enough(fanin, batch):
    def work(_):
        raise ExceptionGroup("parts", [ValueError("once more"), ExceptionGroup("pages", [Failed(REASON)])])

    assert delivered(fanin, batch.items[0], work) == DELETED
    assert [each.reason for each in batch.samples()] == [REASON]


def test_an_interruption_beside_it_ends_the_process(fanin, batch):
    def work(_):
        raise BaseExceptionGroup("parts", [Failed(REASON), KeyboardInterrupt()])

    with pytest.raises(BaseExceptionGroup):
        delivered(fanin, batch.items[0], work)
    assert acked(batch) == (0, 0)


def test_the_other_items_of_a_delivery_are_acked(fanin, batch):
    handler = fanin.acks(lambda record: fail() if record["body"] == batch.items[1] else None)

    assert handler(sqs_event(*batch.items), None) == DELETED
    assert acked(batch) == (3, 1)
    assert [each.item_id for each in batch.samples()] == [batch.items[1]]


def test_it_does_not_hold_up_its_message_group(fanin, batch):
    event = sqs_event(*batch.items)
    for record in event["Records"]:
        record["attributes"] = {"SequenceNumber": "1", "MessageGroupId": "a"}

    assert (
        fanin.acks(lambda record: fail() if record["body"] == batch.items[0] else None)(event, None)
        == DELETED
    )
    assert acked(batch) == (3, 1)


def test_of_a_chunk_one_item_fails_and_is_not_worked_on_again_when_the_chunk_is(fanin, batch):
    worked = []

    @fanin.acks_each
    def handler(item):
        worked.append(item.index)
        if item.index == 0:
            fail()
        if item.index == 1 and worked.count(1) == 1:
            raise ValueError("once more")

    body = batch.items.message()
    assert handler(received(body), None) == RETURNED
    assert acked(batch) == (2, 1)
    assert handler(received(body, 2), None) == DELETED
    assert worked == [0, 1, 2, 1]
    assert acked(batch) == (3, 1)
    assert [each.reason for each in batch.samples()] == [REASON]


@pytest.mark.parametrize("fault", [lost_before, answers(503)])
def test_a_failure_whose_ack_had_no_answer_is_sent_again_without_work(over_http, service, fault):
    batch, worked = over_http.open(), []
    item = batch.add(1)[0]

    @over_http.acks
    def handler(record):
        worked.append(record)
        if len(worked) == 1:
            service.faults += [fault] * 5
        fail()

    assert handler(received(item), None) == RETURNED
    service.faults.clear()
    assert handler(received(item, 2), None) == DELETED
    assert len(worked) == 1
    assert acked(batch) == (1, 1)
    assert [each.reason for each in batch.samples()] == [REASON]


def test_a_message_that_is_sent_again_is_worked_on_and_heals_the_item(fanin, batch):
    results = iter([Failed(REASON), None])

    @fanin.acks
    def handler(_):
        if (error := next(results)) is not None:
            raise error

    assert handler(received(batch.items[0]), None) == DELETED
    assert handler(received(batch.items[0], message="m1"), None) == DELETED
    assert acked(batch) == (1, 0)


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_a_worker_outside_of_lambda_fails_an_item_for_good(fanin, batch, is_coroutine):
    async def handler(_):
        fail()

    consumer = consumer_of(handler if is_coroutine else fail, fanin._transport, {})
    (record,) = received(batch.items[0])["Records"]
    steps = consumer.work_alone(record)
    outcome = asyncio.run(take_in_task(steps)) if is_coroutine else take(steps)

    assert consumer.settle_together([outcome]).failed == []
    assert acked(batch) == (1, 1)
    assert [each.reason for each in batch.samples()] == [REASON]


# Acks of an item that is under work.


ACKS = {
    "ack": lambda fanin, batch, item: fanin.ack([item]),
    "range": lambda fanin, batch, item: fanin.ack(batch.items),
    "pool": lambda fanin, batch, item: in_a_thread(lambda: fanin.ack([item])),
    "forked": lambda fanin, batch, item: in_a_fork(lambda: fanin.ack([item])),
}


def in_a_thread(call):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call).result()


def in_a_fork(call):
    def child():
        with pytest.raises(InvalidRequest, match="under work"):
            call()

    assert status_of(forked(child)) == 0
    raise InvalidRequest("as of the child: it is under work")


@pytest.mark.parametrize("way", ACKS)
def test_a_function_does_not_ack_its_own_item_before_it_returns(fanin, batch, way):
    """The ack would be final, although the work may still fail."""

    def work(record):
        with pytest.raises(InvalidRequest, match="under work"):
            ACKS[way](fanin, batch, record["body"])
        assert acked(batch) == (0, 0)
        raise ValueError("once more")

    assert delivered(fanin, batch.items[0], work) == RETURNED
    assert acked(batch) == (0, 0)


def test_it_acks_any_other_item_and_its_own_once_that_is_handed_over(fanin, batch):
    def work(record):
        fanin.ack(batch.items[1:])
        fanin.hand_over()
        fanin.ack([record["body"]])

    assert delivered(fanin, batch.items[0], work) == DELETED
    assert acked(batch) == (3, 0)


# With the other outcomes of a function.


def test_the_last_outcome_counts_after_a_report_or_a_hand_over(fanin, batch):
    def after_a_report(record):
        fanin.fail([record["body"]], "no picture")
        fail()

    def after_a_hand_over(record):
        fanin.hand_over()
        fail()

    assert delivered(fanin, batch.items[0], after_a_report) == DELETED
    assert delivered(fanin, batch.items[1], after_a_hand_over) == DELETED
    assert acked(batch) == (2, 2)


def test_it_cancels_the_child_whose_block_raised_it(fanin, batch):
    """No attempt follows that could go on with it."""
    children = []

    def work(record):
        with fanin.open(parent=record["body"]) as child:
            children.append(child)
            child.add(2)
            fail()

    assert delivered(fanin, batch.items[0], work) == DELETED
    assert children[0].status().state == "CANCELLED"
    assert acked(batch) == (1, 1)


def test_at_the_last_attempt_a_cancel_that_failed_is_tried_again(over_http, service):
    batch, children = over_http.open(), []

    def work(record):
        with over_http.open(parent=record["body"]) as child:
            children.append(child)
            service.faults += [answers(503)] * 5
            fail()

    assert over_http.acks(work, fail_after=1)(received(batch.add(1)[0]), None) == DELETED
    assert children[0].status().state == "CANCELLED"


def test_it_keeps_the_message_while_that_child_cannot_be_cancelled(over_http, service):
    batch = over_http.open()
    item = batch.add(1)[0]

    def work(record):
        with over_http.open(parent=record["body"]) as child:
            child.add(2)
            service.faults += [answers(503)] * 5
            fail()

    assert over_http.acks(work)(received(item), None) == RETURNED


def test_a_handler_that_is_called_in_a_handler_fails_the_item_for_both(fanin, batch):
    inner = fanin.acks(fail)

    assert delivered(fanin, batch.items[0], lambda record: inner({"Records": [record]}, None)) == DELETED
    assert acked(batch) == (1, 1)


def test_outside_of_an_item_it_is_an_exception(fanin, batch):
    with pytest.raises(Failed), fanin.open() as opened:
        fail()
    assert opened.status().state == "CANCELLED"

    handler = fanin.acks(item_id=fail)(lambda _: None)
    assert handler(received(batch.items[0]), None) == RETURNED
    with pytest.raises(Failed):
        delivered(fanin, batch.items[0], lambda _: None, on_acked=fail)


# Jobs.


@pytest.fixture
def jobs(fanin):
    return work_queue(acking(fanin._transport))


def test_a_job_that_its_worker_fails_for_good_is_dead_at_once_and_fails_its_item(fanin, batch, jobs, caplog):
    jobs.add(NewJob("job", item_id=batch.items[0]))
    with jobs.take(1, wait=0) as (job,):
        fail()

    (dead,) = jobs.dead()
    assert (dead.job.name, dead.job.failures, dead.error) == ("job", 1, REASON)
    assert acked(batch) == (1, 1)
    assert [(each.item_id, each.reason) for each in batch.samples()] == [(batch.items[0], REASON)]
    (line,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert (line.exc_info, line.getMessage()) == (
        None,
        f"job {job.id} is failed for good by its worker: {REASON}",
    )


def test_of_several_jobs_one_fails_for_good_by_name(fanin, batch, jobs):
    jobs.add_all([NewJob(f"job {at}", item_id=item) for at, item in enumerate(batch.items)])
    with jobs.take(3, wait=0) as taken:
        taken.ack(taken[0])
        taken.fail(taken[1], REASON)
        with pytest.raises(InvalidRequest, match="no longer"):
            taken.ack(taken[1])
        raise Failed("of the last one")

    assert [(dead.job.name, dead.error) for dead in jobs.dead()] == [
        ("job 1", REASON),
        ("job 2", "of the last one"),
    ]
    assert acked(batch) == (3, 2)


def test_a_failure_that_may_be_of_each_of_several_jobs_is_raised_and_ends_none(jobs, caplog):
    jobs.add_all([NewJob("a"), NewJob("b")])
    with pytest.raises(Failed), jobs.take(2, wait=0):
        fail()

    assert [job.failures for job in jobs.queued()] == [1, 1]
    assert jobs.dead() == []
    assert "jobs.fail(job, reason)" in caplog.text


def test_a_scope_without_a_job_raises_it(jobs):
    with pytest.raises(Failed), jobs.take(1, wait=0):
        fail()


def test_a_claim_that_is_lost_says_so_in_place_of_the_failure(jobs):
    jobs.add("job")
    with expects(LostClaim), jobs.take(1, wait=0) as (job,):
        jobs.context.store.stored.pop(job.key)
        fail()
    assert jobs.dead() == []


def test_a_job_of_a_coroutine_fails_for_good(jobs):
    async def work():
        async with AsyncQueue(shown(jobs)) as queue:
            await queue.add_all([NewJob("a"), NewJob("b")])
            async with queue.take(2, wait=0) as taken:
                await taken.fail(taken[0], "no picture")
                await in_a_coroutine()

    asyncio.run(work())
    assert [dead.error for dead in jobs.dead()] == ["no picture", REASON]


def test_an_ack_of_the_item_of_a_job_is_refused_while_the_job_is_worked_on(fanin, batch, jobs):
    jobs.add(NewJob("job", item_id=batch.items[0]))
    with jobs.take(1, wait=0), pytest.raises(InvalidRequest, match="job ends"):
        fanin.ack([batch.items[0]])
    assert acked(batch) == (1, 0)


@pytest.mark.parametrize("end", [fail, lambda jobs, job: jobs.fail(job, REASON)], ids=["raise", "fail"])
def test_a_fake_has_failures_for_good_of_items_and_of_jobs(end):
    fake = FakeFanin()
    batch = fake.open()
    item, of_job = batch.add(2)
    assert deliver(fake.acks(fail), [item]).acked == (item,)

    queue = fake.queue("thumbnails")
    queue.add(NewJob("job", item_id=of_job))
    with queue.take(1, wait=0) as taken:
        end(taken, taken[0])

    assert acked(batch) == (2, 2)
    assert {each.reason for each in batch.samples()} == {REASON}
    queue.close()
