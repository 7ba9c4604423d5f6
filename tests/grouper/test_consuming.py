"""A delivery of messages: each fares by itself."""

from __future__ import annotations

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.grouper.consuming import consume

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

    assert consumed.done == (0, 3)
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
