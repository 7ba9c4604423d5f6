"""A delivery of messages: each fares by itself."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.grouper import Call, Function, Refused, Retry
from fanin.grouper.use_cases.consuming import consume

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
    left = iter([True, False, False, False])
    seen: list[str] = []
    consumed = consume(RECORDS, seen.append, lambda: next(left))

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
