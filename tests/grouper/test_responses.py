"""What the response of a batch API means: its status, its body and ``Retry-After``, at their bounds."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from fanin.grouper import Answer, Outcome, Policy, Verdict
from fanin.grouper.rules.responses import answer_of, refusal_of, retry_after

AGAIN = {408, 425, 429, 500, 502, 503, 504}
MIB = 1 << 20
DEEP = b"[" * 100_000
LOGIN = b"<!doctype html><html><head><title>Sign in</title></head><body><form>...</form></body></html>"
MALFORMED = Answer(Outcome(Verdict.RETRY, "the response is not of the form {results: [{taskId, outcome}]}"))
PAGE = Answer(
    Outcome(Verdict.RETRY, "the response is a page, as of a login or a proxy, and no answer of the batch API")
)
FAILS = {"taskId": "a", "outcome": "fail"}
NAMED = json.dumps({"results": [FAILS]}).encode()


def body(*results):
    return json.dumps({"results": results}).encode()


def test_a_bundle_is_called_again_only_after_the_status_of_an_outage():
    after = timedelta(seconds=7)
    answers = {status: refusal_of(status, after) for status in range(300, 600)}

    for status, answer in answers.items():
        verdict, backoff = (Verdict.RETRY, after) if status in AGAIN else (Verdict.FAIL, None)
        assert answer == Answer(Outcome(verdict, f"status {status}"), retry_after=backoff)


NO_OUTCOME = [b"", b" \r\n", b"OK", b"\xff\xfe\x00", b"9" * 5000, b"null", b"true", b"5", b'"ok"', b"[]"]
NO_OUTCOME += [b"{}", b"[1, 2]", b'{"status": "ok"}', b'[{"id": 17}]', b'{"results": []}', b"{}".ljust(MIB)]
NO_OUTCOME += ['{"status": "ok"}'.encode("utf-16")]


@pytest.mark.parametrize("text", NO_OUTCOME, ids=lambda text: text[:12])
def test_a_body_that_names_no_outcome_leaves_the_status_as_it_is(text):
    assert answer_of(text) == Answer()


@pytest.mark.parametrize("outcome", ["ok", "retry", "fail"])
@pytest.mark.parametrize(("facts", "detail"), [({}, ""), ({"detail": None}, ""), ({"detail": "no"}, "no")])
def test_a_body_names_outcomes_of_tasks(outcome, facts, detail):
    text = body({"taskId": "a", "outcome": outcome, **facts}, {"taskId": "b", "outcome": "ok"})

    assert answer_of(text).members == {"a": Outcome(Verdict(outcome), detail), "b": Outcome(Verdict.OK)}
    assert answer_of(NAMED.rjust(MIB)).members == {"a": Outcome(Verdict.FAIL)}


def test_the_result_of_a_success_is_kept_as_json_and_one_that_is_too_long_fails_its_task():
    text = body(
        {"taskId": "a", "outcome": "ok", "result": {"size": 3, "of": "ä"}},
        {"taskId": "b", "outcome": "fail", "result": 1},
        {"taskId": "c", "outcome": "ok", "result": "x" * 65_535},
    )
    found = answer_of(text).members

    assert found["a"] == Outcome(Verdict.OK, result='{"size":3,"of":"\\u00e4"}')
    assert found["b"] == Outcome(Verdict.FAIL)
    assert found["c"] == Outcome(Verdict.FAIL, "the result has 65,537 bytes of JSON, more than 65,536")
    assert answer_of(b'{"results": [{"taskId": "a", "outcome": "ok", "result": NaN}]}') == MALFORMED


OTHER_FORMS = {
    "list": json.dumps([FAILS]).encode(),
    "within": json.dumps({"data": {"results": [FAILS]}}).encode(),
    "case": json.dumps({"Results": [{"TaskId": "a", "Outcome": "Fail"}]}).encode(),
    "whole": json.dumps({"outcome": "fail"}).encode(),
    "text": json.dumps(NAMED.decode()).encode(),
    "text within": json.dumps({"body": NAMED.decode()}).encode(),
    "utf-16": json.dumps([FAILS]).encode("utf-16"),
    "cut off": NAMED[:-2],
    "prefix": b")]}'," + NAMED,
    "warning": b"Notice: undefined index\n" + NAMED,
    "lines": json.dumps(FAILS).encode() * 2,
    "latin-1": '{"results": [{"taskId": "a", "outcome": "fail", "detail": "\xfc"}]}'.encode("latin-1"),
    "mark": b'\xef\xbb\xbf{"results": [',
    "brackets": b'[("a", "fail")]',
    "plain": b"outcome: fail",
    "open": b"{",
    "null": b'{"results": null}',
    "number": b'{"results": 1}',
    "no outcome": body({"taskId": "a"}),
    "other outcome": body({"taskId": "a", "outcome": 1}),
    "other id": body({"taskId": 1, "outcome": "fail"}),
    "twice": body({"taskId": "a", "outcome": "ok"}, FAILS),
    "deep": DEEP,
    "deep within": b'{"results": ' + DEEP,
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_a_body_that_may_name_outcomes_in_another_form_is_no_success(form):
    assert answer_of(OTHER_FORMS[form]) == MALFORMED


@pytest.mark.parametrize(
    "text", [LOGIN, b"\n <p>OK</p>", b"<?xml version='1.0'?><fault/>"], ids=["login", "part", "xml"]
)
def test_a_page_is_no_answer(text):
    assert answer_of(text) == PAGE


def test_a_response_has_up_to_a_mebibyte():
    longer = Answer(Outcome(Verdict.RETRY, "the response is longer than 1048576 bytes"))

    assert answer_of(b"{}".ljust(MIB + 1)) == longer


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *((text, None) for text in (None, "", "0000000007", "1e9", "-1", "²", "9" * 5000)),
        *(("7", 7), ("000000007", 7), ("900", 900), ("901", 900), ("99999", 900)),
    ],
)
def test_retry_after_is_a_bounded_seconds_of(text, seconds):
    assert retry_after(text) == (None if seconds is None else timedelta(seconds=seconds))


FIVE = "abcde"


class Says:
    """A batch API that answers each call by the bodies that a test gives, and counts its calls."""

    def __init__(self, says):
        self.says, self.calls = says, 0

    def call(self, call):
        self.calls += 1
        return answer_of(self.says(call))


@pytest.fixture
def five(make_bench):
    """Have a bundle of five tasks called, and return their states with the number of calls."""

    def drained(says):
        bench = make_bench(Policy(max_size=5, max_attempts=3))
        bench.api = Says(says)
        bench.register(*FIVE)
        bench.drain()
        return bench, bench.states(*FIVE), bench.api.calls

    return drained


def test_a_page_for_a_moment_costs_no_task(five):
    bodies = [LOGIN, b"OK"]

    assert five(lambda _: bodies.pop(0))[1:] == (["SUCCEEDED"] * 5, 2)


def test_of_a_page_for_one_task_the_others_do_not_die(five):
    """As of a firewall that answers 200 and a page for a payload that it takes for an attack."""
    bench, states, _ = five(
        lambda call: LOGIN if any(each.task_id == "c" for each in call.members) else b"OK"
    )

    assert states == ["SUCCEEDED", "SUCCEEDED", "DEAD", "SUCCEEDED", "SUCCEEDED"]
    assert bench.task("c").detail == PAGE.whole.detail


def test_tasks_that_a_body_leaves_out_succeed(five):
    assert five(lambda _: NAMED)[1:] == (["FAILED", *["SUCCEEDED"] * 4], 1)


@pytest.mark.parametrize("outcome", ["ok", "retry", "fail"])
def test_an_outcome_of_a_task_that_was_not_sent_is_no_success_of_the_others(five, outcome):
    """The API meant one of the tasks, and nothing says which."""
    unknown = body({"taskId": "A", "outcome": outcome}, {"taskId": "b", "outcome": "ok"})
    bodies = [unknown, b""]

    assert five(lambda _: bodies.pop(0))[1:] == (["SUCCEEDED"] * 5, 2)
    bench, states, _ = five(lambda _: body({"taskId": "A", "outcome": outcome}))
    assert states == ["DEAD"] * 5
    assert bench.task("a").detail == "not of this bundle: 1 of the 1 tasks that the response names"
