"""Errors of a call: which of them are answered, and which end the process; and a call that does not end."""

from __future__ import annotations

import pytest

from fanin.grouper import Answer, Call, Function, Outcome, Verdict
from fanin.grouper.calls.timeouts import answered_within


@pytest.mark.parametrize("error", [ValueError("token"), OSError("token"), RecursionError()], ids=repr)
def test_an_error_is_answered_at_once_without_its_text(error):
    def call():
        raise error

    answer = answered_within(1, call)

    assert answer == Answer(Outcome(Verdict.RETRY, f"no response: {type(error).__name__}"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_a_process_is_no_answer_of_a_function(error):
    def function(call):
        raise error

    with pytest.raises(error):
        Function(function).call(Call("t", "search", "b-1", 1, ()))
