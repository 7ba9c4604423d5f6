"""Work that a function left behind, in a task, a thread or a process: it has the item of no later call."""

from __future__ import annotations

import asyncio
import multiprocessing.pool
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from itertools import chain, starmap
from threading import Barrier, Event, Thread

import pytest

from fanin import AsyncFanin, InvalidRequest
from fanin.client.handing_over import children
from tests.client.conftest import sqs_event
from tests.client.received import DELETED, acked, delivered, received
from tests.forks import forked, status_of

REASON = "not a JPEG"


def outstanding(batch):
    return [item for part in batch.outstanding() for item in part]


def refused(call, *args):
    """Run *call*; return whether it was refused."""
    try:
        call(*args)
    except InvalidRequest:
        return True
    return False


# A call in the context of another one.


@pytest.mark.parametrize("ask", ["hand_over", "is_over"])
def test_a_task_that_an_item_left_on_a_kept_runner_has_the_item_of_no_later_item(fanin, batch, ask):
    later, answers, tasks = asyncio.Event(), [], []

    async def leftover():
        await later.wait()
        answers.append(refused(getattr(fanin, ask)))

    async def work(record):
        if record["body"] == batch.items[0]:
            tasks.append(asyncio.create_task(leftover()))
            return
        later.set()
        await asyncio.wait(tasks)

    with asyncio.Runner() as runner:
        handler = fanin.acks(lambda record: runner.run(work(record)))
        assert handler(sqs_event(*batch.items), None) == DELETED

    assert answers == [True]
    assert outstanding(batch) == []


@pytest.mark.parametrize("again", [1, 2])
def test_a_context_that_was_copied_in_an_item_has_the_item_of_no_later_call(fanin, batch, again):
    """Neither for the next item, nor for the next attempt of its own."""
    contexts, answers = [], []

    def work(record):
        if not contexts:
            contexts.append(copy_context())
            raise ValueError("once more")
        answers.append(contexts[0].run(refused, fanin.hand_over))

    for item in batch.items[:again]:
        delivered(fanin, item, work)
    delivered(fanin, batch.items[0], work, 2)

    assert answers == [True] * again
    assert outstanding(batch) == [batch.items[2]] if again == 2 else batch.items[1:]


def test_a_thread_that_an_item_left_behind_has_the_item_of_no_later_item(fanin, batch):
    later, threads, answers = Event(), [], []

    def leftover():
        later.wait(20)
        answers.append(refused(fanin.hand_over))

    def work(record):
        if not threads:
            threads.append(Thread(target=copy_context().run, args=(leftover,)))
            threads[0].start()
            return
        later.set()
        threads[0].join()

    assert fanin.acks(work)(sqs_event(*batch.items), None) == DELETED
    assert answers == [True]
    assert outstanding(batch) == []


def test_a_coroutine_on_a_kept_runner_has_its_item_in_the_context_of_its_call(fanin, batch):
    async def work(record):
        await asyncio.sleep(0)
        if record["body"] in batch.items[1:]:
            await asyncio.to_thread(fanin.hand_over)

    with asyncio.Runner() as runner:
        handler = fanin.acks(lambda record: runner.run(work(record), context=copy_context()))
        assert handler(sqs_event(*batch.items), None) == DELETED

    assert outstanding(batch) == list(batch.items[1:])


def test_without_that_context_it_is_shown_how_to_get_it_and_adds_need_a_key(fanin, batch):
    """A fresh key would add the items again at the next attempt."""
    errors = []

    async def work(record):
        for ask in (fanin.hand_over, lambda: fanin.open().add(2)):
            with pytest.raises(InvalidRequest) as error:
                ask()
            errors.append(str(error.value))
        assert len(fanin.open().add(2, key=record["body"])) == 2

    with asyncio.Runner() as runner:
        runner.run(asyncio.sleep(0))
        assert fanin.acks(lambda record: runner.run(work(record)))(sqs_event(batch.items[0]), None) == DELETED

    assert "context=contextvars.copy_context()" in errors[0]
    assert "pass a key" in errors[1]


def test_a_client_for_asyncio_adds_with_a_key_on_a_runner_that_no_call_made(fanin, batch):
    errors = []

    async def work(record):
        opened = await AsyncFanin(fanin).open()
        with pytest.raises(InvalidRequest, match="pass a key") as error:
            await opened.add(2)
        errors.append(error)

    with asyncio.Runner() as runner:
        runner.run(asyncio.sleep(0))
        delivered(fanin, batch.items[0], lambda record: runner.run(work(record)))
    assert errors


# Reports and owners that come after the return.


@pytest.mark.parametrize("times", [1, 2])
def test_a_failure_that_is_reported_after_the_return_is_refused_and_not_healed(fanin, batch, times):
    """It would be accepted, and the ack of the delivery, which is sent later, would heal it."""
    first, answers = batch.items[0], []

    def work(record):
        if record["body"] != first:
            answers.append(refused(fanin.fail, [first], REASON))

    assert fanin.acks(work)(sqs_event(*batch.items[:2], times=times), None) == DELETED
    assert answers == [True]
    assert acked(batch) == (2, 0)


def test_a_new_owner_that_comes_after_the_return_is_refused(fanin, batch):
    """The item would be acked, though its child is not done."""
    first, answers = batch.items[0], []

    def work(record):
        if record["body"] != first:
            answers.append(refused(lambda: fanin.open(parent=first)))
            answers.append(refused(fanin.hand_over, first))

    assert fanin.acks(work)(sqs_event(*batch.items[:2]), None) == DELETED
    assert answers == [True, True]
    assert acked(batch) == (2, 0)


def test_an_owner_that_is_made_while_the_function_returns_keeps_the_message(fanin, batch, monkeypatch):
    """It is not known yet whether the item has it."""
    opening, returned = Event(), Event()
    threads = []

    def slowly(*args, opened=children._opened):
        opening.set()
        assert returned.wait(20)
        return opened(*args)

    monkeypatch.setattr(children, "_opened", slowly)

    def work(record):
        threads.append(Thread(target=lambda: fanin.open(parent=record["body"])))
        threads[0].start()
        assert opening.wait(20)

    answer = delivered(fanin, batch.items[0], work)
    returned.set()
    threads[0].join()

    assert answer != DELETED
    assert acked(batch) == (0, 0)


def test_a_block_that_raises_after_the_return_cancels_its_child(fanin, batch):
    """No attempt follows, because the message is deleted; an open child would keep the item outstanding."""
    opened, returned = Event(), Event()
    children, threads = [], []

    def leftover():
        with suppress(ValueError), fanin.open(parent=batch.items[0]) as child:
            children.append(child)
            opened.set()
            assert returned.wait(20)
            raise ValueError("too late")

    def work(_):
        threads.append(Thread(target=leftover))
        threads[0].start()
        assert opened.wait(20)

    assert delivered(fanin, batch.items[0], work) == DELETED
    returned.set()
    threads[0].join()
    assert children[0].status().state == "CANCELLED"
    assert acked(batch) == (1, 1)


def test_the_owner_of_a_handed_over_item_may_fail_it_before_the_delivery_ends(fanin, batch):
    def work(record):
        if record["body"] == batch.items[0]:
            fanin.hand_over()
        else:
            fanin.fail([batch.items[0]], REASON)

    assert fanin.acks(work)(sqs_event(*batch.items[:2]), None) == DELETED
    assert acked(batch) == (2, 1)


def test_a_function_does_not_hand_over_the_item_of_another_one(fanin, batch):
    started, tried, answers = Event(), Event(), []

    def work(record):
        if record["body"] == batch.items[0]:
            started.set()
            assert tried.wait(20)
        else:
            answers.append(refused(fanin.hand_over, batch.items[0]))
            tried.set()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(delivered, fanin, batch.items[0], work)
        assert started.wait(20)
        assert delivered(fanin, batch.items[1], work) == DELETED
        assert first.result() == DELETED
    assert answers == [True]
    assert acked(batch) == (2, 0)


# Other processes.


def in_a_child(fanin, item, child):
    """Run *child* in a fork of the function for *item*; return the answer to the delivery."""
    statuses = []
    answer = delivered(fanin, item, lambda _: statuses.append(status_of(forked(child))))
    assert statuses == [0]
    return answer


IN_A_CHILD = {
    "fails the item": (lambda fanin, items: fanin.fail([items[0]], REASON), "forked"),
    "fails a later item": (lambda fanin, items: fanin.fail([items[1]], REASON), "forked"),
    "gives the item an owner": (lambda fanin, items: fanin.open(parent=items[0]), "new owner"),
    "gives a later item an owner": (lambda fanin, items: fanin.open(parent=items[1]), "forked"),
    "hands the item over": (lambda fanin, items: fanin.hand_over(items[0]), "process"),
    "hands over": (lambda fanin, items: fanin.hand_over(), "process"),
}
"""Its parent would ack the item, or the child outlives the call."""


@pytest.mark.parametrize("deed", IN_A_CHILD)
@pytest.mark.parametrize("generations", [1, 2])
def test_a_forked_child_does_nothing_to_items_whose_functions_return_in_its_parent(
    fanin, batch, deed, generations
):
    act, why = IN_A_CHILD[deed]

    def child():
        with pytest.raises(InvalidRequest, match=why):
            act(fanin, batch.items)

    def parent():
        assert status_of(forked(child)) == 0

    assert in_a_child(fanin, batch.items[0], child if generations == 1 else parent) == DELETED
    assert acked(batch) == (1, 0)


def test_a_forked_child_fails_an_item_that_was_handed_over_before_the_fork(fanin, batch):
    statuses = []

    def work(record):
        fanin.hand_over()
        statuses.append(status_of(forked(lambda: fanin.fail([record["body"]], REASON))))

    assert delivered(fanin, batch.items[0], work) == DELETED
    assert statuses == [0]


def test_a_forked_child_reports_the_items_of_its_own_functions(fanin, batch):
    def child():
        fail = lambda record: fanin.fail([record["body"]], REASON)
        assert delivered(fanin, batch.items[1], fail) == DELETED

    assert in_a_child(fanin, batch.items[0], child) == DELETED


# What a function returns.


async def coroutine():
    """Does nothing."""


NOT_DONE = {
    "futures": lambda: [Future()],
    "futures of a pool": lambda: (Future(), "and its name"),
    "named futures": lambda: {"page": Future()},
    "a set of futures": lambda: {Future()},
    "a deque": lambda: deque([Future()]),
    "futures of parts": lambda: [1, [2, [Future()]]],
    "coroutines": lambda: [coroutine(), coroutine()],
    "a map": lambda: map(print, [1]),
    "a filter": lambda: filter(print, [1]),
    "a zip": lambda: zip([1], map(print, [1]), strict=False),
    "a starmap": lambda: starmap(print, [(1,)]),
    "a map in a list": lambda: [map(print, [1])],
    "a future five lists deep": lambda: [[[[[Future()]]]]],
    "an iterator of futures": lambda: iter([Future()]),
    "an exception": lambda: [ValueError("of gather")],
    "a chain of maps": lambda: chain(map(print, [1]), map(print, [2])),
    "an enumerated map": lambda: enumerate(map(print, [1])),
    "values of a dict": {"page": Future()}.values,
    "futures with names": lambda: {Future(): "page"},
    "a future behind long results": lambda: [list(range(2_000)), [Future()]],
}


@pytest.mark.parametrize("result", NOT_DONE)
def test_an_item_whose_function_returned_work_that_is_not_done_is_not_acked(fanin, batch, result):
    assert delivered(fanin, batch.items[0], lambda _: NOT_DONE[result]()) != DELETED
    assert acked(batch) == (0, 0)


def test_results_of_a_process_pool_that_are_not_waited_for_are_not_done(fanin, batch):
    with multiprocessing.pool.ThreadPool(1) as pool:
        for result in (pool.map_async(abs, [1]), [pool.apply_async(abs, [1])], pool.imap(abs, [1])):
            assert delivered(fanin, batch.items[0], lambda _, result=result: result) != DELETED
    assert acked(batch) == (0, 0)


VALUES = [None, [1, 2], {"size": 3}, "text", b"bytes", ("a", {"b": [None]}), range(3), {1, 2}, [[[]]]]


@pytest.mark.parametrize("result", VALUES, ids=repr)
def test_any_other_result_acks_the_item(fanin, batch, result):
    assert delivered(fanin, batch.items[0], lambda _: result) == DELETED
    assert acked(batch) == (1, 0)


def test_a_result_that_contains_itself_acks_the_item(fanin, batch):
    result: list[object] = []
    result.append(result)
    assert delivered(fanin, batch.items[0], lambda _: result) == DELETED


# Several calls at once, and calls in calls.


def test_a_runner_that_another_running_call_made_does_not_hand_over_that_calls_item(fanin, batch):
    first, second = batch.items[:2]
    runner, started, over, answers = asyncio.Runner(), Event(), Event(), []

    async def work(record):
        if record["body"] == second:
            answers.append(refused(fanin.hand_over))

    def handle(record):
        runner.run(work(record))
        if record["body"] == first:
            started.set()
            assert over.wait(20)

    with ThreadPoolExecutor(1) as pool:
        delivery = pool.submit(delivered, fanin, first, handle)
        assert started.wait(20)
        delivered(fanin, second, handle)
        over.set()
        assert delivery.result() == DELETED
    runner.close()
    assert answers == [True]
    assert acked(batch) == (2, 0)


@pytest.mark.parametrize(
    "deed", [lambda fanin, item: fanin.hand_over(item), lambda fanin, item: fanin.fail([item])]
)
def test_what_an_attempt_left_behind_does_nothing_to_the_next_one(fanin, batch, deed):
    item, contexts, answers = batch.items[0], [], []

    def work(record):
        if not contexts:
            contexts.append(copy_context())
            raise ValueError("once more")
        with ThreadPoolExecutor(1) as pool:
            answers.append(pool.submit(contexts[0].run, refused, deed, fanin, item).result())

    assert delivered(fanin, item, work) != DELETED
    assert delivered(fanin, item, work, 2) == DELETED
    assert (answers, acked(batch)) == ([True], (1, 0))


@pytest.mark.parametrize("deed", ["hand_over", "fail", "raise"])
def test_what_a_handler_in_a_handler_found_holds_for_the_outer_one(fanin, batch, deed):
    item = batch.items[0]

    def inner(record):
        if deed == "raise":
            raise ValueError("not now")
        fanin.hand_over() if deed == "hand_over" else fanin.fail([item], REASON)

    router = lambda record: fanin.acks(inner)({"Records": [record]}, None)
    answer = delivered(fanin, item, router)

    assert (answer == DELETED) == (deed != "raise")
    assert acked(batch) == {"hand_over": (0, 0), "fail": (1, 1), "raise": (0, 0)}[deed]


def test_the_answer_of_another_handler_that_returned_messages_is_no_success(fanin, batch):
    answer = delivered(fanin, batch.items[0], lambda _: {"batchItemFailures": [{"itemIdentifier": "m9"}]})

    assert answer != DELETED
    assert acked(batch) == (0, 0)


def test_of_two_copies_of_a_message_neither_acks_an_item_that_one_hands_over(fanin, batch):
    item, together, handed_over = batch.items[0], Barrier(2, timeout=20), Event()

    def work(record):
        together.wait()
        if record["messageId"] == "m0":
            fanin.hand_over()
            handed_over.set()
        assert handed_over.wait(20)

    with ThreadPoolExecutor(2) as pool:
        copies = [pool.submit(fanin.acks(work), received(item, message=name), None) for name in ("m0", "m1")]
        assert [copy.result() for copy in copies] == [DELETED] * 2
    assert acked(batch) == (0, 0)


def test_an_owner_that_is_made_for_a_later_item_of_the_delivery_is_noticed(fanin, batch):
    first, second = batch.items[:2]
    children = []

    def work(record):
        if record["body"] == first:
            children.append(fanin.open(parent=second, parent_fails_on="any"))

    assert fanin.acks(work)(sqs_event(first, second), None) == DELETED
    assert acked(batch) == (1, 0)
    fanin.fail(children[0].add(1), REASON)
    children[0].close()
    assert acked(batch) == (2, 1)


# More of other processes.


def test_a_forked_child_that_returns_from_the_function_acks_nothing(fanin, batch):
    children = []

    def work(record):
        child = os.fork()
        if child:
            children.append(child)
            raise ValueError("the work is not done")

    parent = os.getpid()
    try:
        answer = delivered(fanin, batch.items[0], work)
    finally:
        if os.getpid() != parent:
            os._exit(0)
    assert answer != DELETED
    os.waitpid(children[0], 0)
    assert acked(batch) == (0, 0)
