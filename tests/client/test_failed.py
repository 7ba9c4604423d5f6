"""``Failed``: a function fails its item for good, at once, without another attempt."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from fanin import Failed, Fanin, InvalidRequest
from tests.client.conftest import answers, lost_before, sqs_event
from tests.client.received import DELETED, RETURNED, acked, delivered, received
from tests.forks import forked, status_of

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


def in_a_process():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(fail).result()


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
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(NoPicture) as error:
        pool.submit(fail_sized).result()
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
