"""Deliveries and sweeps: each message fares by itself, and no failure or long scan is in its way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.grouper import BundleMessage, Call, Function, Grouper, Refused, Retry, TaskMessage
from fanin.grouper.store import Page
from fanin.grouper.use_cases.consuming import consume
from tests.grouper.conftest import Bench

RECORDS = [{"messageId": f"m{number}", "body": str(number)} for number in range(4)]


def always() -> bool:
    return True


def test_what_went_well_is_gone_and_only_the_rest_comes_back():
    def answer(body):
        if body == "1":
            raise InvalidRequest("no message")
        if body == "2":
            raise StoreUnavailable("ask again")
        return int(body)

    consumed = consume(RECORDS, answer, always)

    assert consumed.answers == (0, 3)
    assert consumed.response() == {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m2"}]}


def test_a_bug_on_one_message_does_not_take_the_others_along():
    consumed = consume(RECORDS, lambda body: 1 // int(body), always)

    assert consumed.failed == ("m0",)


def test_what_there_is_no_time_for_comes_back_untouched():
    times = iter([True, False, False, False])
    seen: list[str] = []
    consumed = consume(RECORDS, seen.append, lambda: next(times))

    assert seen == ["0"]
    assert consumed.failed == ("m1", "m2", "m3")


class Mute(Exception):
    """An error whose text cannot be made."""

    def __str__(self):
        raise RuntimeError("no text")


def test_an_error_without_a_text_fails_its_own_message_and_no_other():
    def answer(body):
        if body == "a":
            raise Mute
        return body

    records = [{"messageId": body, "body": body} for body in "abc"]
    consumed = consume(records, answer, lambda: True)

    assert (consumed.answers, consumed.failed) == (("b", "c"), ("a",))


def test_an_answer_that_is_still_to_be_awaited_is_none():
    async def answer(body): ...

    with pytest.raises(InvalidRequest, match="answer is a coroutine function"):
        consume([], answer, lambda: True)
    consumed = consume([{"messageId": "m", "body": "b"}], lambda body: answer(body + "!"), lambda: True)

    assert consumed.failed == ("m",)


@pytest.mark.parametrize(("error", "verdict"), [(Mute, "retry"), (Retry, "retry"), (Refused, "fail")])
def test_a_function_whose_error_has_no_text_still_answers(error, verdict):
    kind = type("MuteError", (Mute, error) if error is not Mute else (Mute,), {})

    def function(call):
        raise kind("why")

    answer = Function(function).call(Call("t", "target", "b", 1, ()))

    assert (answer.whole.verdict, answer.whole.detail) == (verdict, "MuteError")


def test_a_function_that_is_a_coroutine_function_is_no_batch_api():
    async def function(call): ...

    with pytest.raises(InvalidRequest, match="function is a coroutine function"):
        Function(function)
    assert (
        "not done"
        in Function(lambda call: function(call or None)).call(Call("t", "x", "b", 1, ())).whole.detail
    )


TARGETS = 25


@pytest.fixture
def lost():
    """Bundles and open tasks, each of another target, whose messages were all lost."""
    lost = Bench()
    for number in range(TARGETS):
        lost.register(f"bundled-{number}", target=f"target-{number}")
    for _ in range(TARGETS):
        lost.step()
    for number in range(TARGETS):
        lost.register(f"open-{number}", target=f"target-{number}")
    lost.queue.waiting.clear()
    lost.queue.sent.clear()
    lost.clock.advance(seconds=120)
    return lost


def woken(lost, kind):
    return len({posting.message for posting in lost.queue.sent if isinstance(posting.message, kind)})


def test_a_bundle_that_cannot_be_woken_holds_up_no_other_and_no_task(lost):
    sick = next(iter(lost.store.bundles))
    read = lost.store.bundle

    def bundle(key):
        if key == sick:
            raise KeyError("no such attribute")
        return read(key)

    lost.store.bundle = bundle
    with pytest.raises(KeyError):
        lost.grouper.sweep()

    assert (woken(lost, TaskMessage), woken(lost, BundleMessage)) == (TARGETS, TARGETS - 1)


def test_messages_that_are_not_taken_hold_up_no_others(lost):
    """Ten messages go in one request; the first of them is refused."""
    send, refused = lost.queue.send, iter([True])

    def sending(postings):
        if isinstance(postings[0].message, TaskMessage) and next(refused, False):
            raise StoreUnavailable("the queue did not take every message")
        send(postings)

    lost.queue.send = sending
    with pytest.raises(StoreUnavailable):
        lost.grouper.sweep()

    assert (woken(lost, TaskMessage), woken(lost, BundleMessage)) == (TARGETS - 10, TARGETS)


@pytest.mark.parametrize("listing", ["open_tasks", "live"])
def test_a_list_that_breaks_off_is_used_as_far_as_it_was_read(lost, listing):
    read = getattr(lost.store, listing)

    def broken(*args):
        if args[-1] is not None:
            raise StoreUnavailable("the store is busy")
        return Page(list(read(*args).rows)[:15], "more")

    setattr(lost.store, listing, broken)
    with pytest.raises(StoreUnavailable):
        lost.grouper.sweep()
    lanes, bundles = {"open_tasks": (15, TARGETS), "live": (TARGETS, 15)}[listing]

    assert (woken(lost, TaskMessage), woken(lost, BundleMessage)) == (lanes, bundles)


def test_a_scan_without_end_wakes_what_it_found_when_its_time_is_short(lost):
    rows = list(lost.store.open_tasks(None).rows)
    lost.store.open_tasks = lambda _: Page(rows, "more")
    looks = iter([True] * 5 * TARGETS)
    swept = Grouper(lost.world).sweep(lambda: next(looks, False))

    assert (swept.lanes, swept.bundles) == (TARGETS, TARGETS)


def test_a_bundle_that_ended_or_went_on_since_it_was_listed_is_not_woken(lost):
    read, gone, called = lost.store.bundle, *list(lost.store.bundles)[:2]
    since = {gone: lambda _: None, called: lambda bundle: replace(bundle, not_before=lost.clock())}
    lost.store.bundle = lambda key: since.get(key, lambda bundle: bundle)(read(key))

    assert lost.grouper.sweep().bundles == TARGETS - 2
