"""The response of a batch API at its bounds: statuses, sizes, depth and ``Retry-After``."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.grouper import Answer, Outcome, Verdict
from fanin.grouper.rules.responses import answer_of, refusal_of, retry_after

AGAIN = {408, 425, 429, 500, 502, 503, 504}
MIB = 1 << 20


def test_a_bundle_is_called_again_only_after_the_status_of_an_outage():
    after = timedelta(seconds=7)
    answers = {status: refusal_of(status, after) for status in range(300, 600)}
    again = {status: answer for status, answer in answers.items() if answer.whole.verdict is Verdict.RETRY}

    assert again == {s: Answer(Outcome(Verdict.RETRY, f"status {s}"), retry_after=after) for s in AGAIN}
    assert answers[404] == Answer(Outcome(Verdict.FAIL, "status 404"))
    assert {answers[s].whole.verdict for s in answers.keys() - AGAIN} == {Verdict.FAIL}


def test_a_response_has_up_to_a_mebibyte():
    assert answer_of(b"{}".ljust(MIB)) == Answer()
    assert answer_of(b"{}".ljust(MIB + 1)).whole == Outcome(
        Verdict.RETRY, "the response is longer than 1048576 bytes"
    )


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"results": ' + b"[" * 100_000])
def test_a_response_nested_too_deeply_is_no_success(body):
    assert answer_of(body).whole == Outcome(
        Verdict.RETRY, "the response is not of the form {results: [{taskId, outcome}]}"
    )


@pytest.mark.parametrize(
    ("text", "seconds"), [("900", 900), ("901", 900), ("000000007", 7), ("0000000007", None)]
)
def test_retry_after_has_up_to_nine_digits(text, seconds):
    assert retry_after(text) == (None if seconds is None else timedelta(seconds=seconds))
