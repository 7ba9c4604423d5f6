"""What a body says beside a status of success: outcomes, nothing, or something that no API meant to say."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from fanin.grouper import Answer, Call, Function, Member, Outcome, Policy, Verdict
from fanin.grouper.rules.downstream import OK
from fanin.grouper.rules.responses import answer_of

FIVE = "abcde"
PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body><form>...</form></body></html>"
MALFORMED = Outcome(Verdict.RETRY, "the response is not of the form {results: [{taskId, outcome}]}")
NO_ANSWER = Outcome(
    Verdict.RETRY, "the response is a page, as of a login or a proxy, and no answer of the batch API"
)
REFUSED = {"taskId": "a", "outcome": "fail"}


@dataclass
class Counted:
    """A batch API that counts its calls."""

    api: object
    calls: int = 0

    def call(self, call):
        self.calls += 1
        return self.api.call(call)


@pytest.fixture
def five(make_bench, service):
    """A bundle of five tasks, whose batch API answers as *service* says."""
    bench = make_bench(Policy(max_size=5, max_attempts=3))
    bench.api = Counted(service.api)
    bench.register(*FIVE)
    return bench


@pytest.mark.parametrize("status", [200, 201, 202, 299])
@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"OK", "text/plain"),
        (b"OK", "text/html; charset=utf-8"),
        (b"5 orders taken\n", "text/html"),
        ("5 Aufträge übernommen".encode("latin-1"), "text/plain; charset=utf-8"),
        (b"OK", "application/json"),
    ],
)
def test_a_text_beside_a_status_of_success_is_a_success_in_one_call(five, service, status, body, media_type):
    service.status, service.body, service.headers_out = status, body, {"Content-Type": media_type}
    five.drain()

    assert (five.states(*FIVE), five.api.calls) == (["SUCCEEDED"] * 5, 1)


def test_of_a_page_for_one_task_the_others_do_not_die(five):
    """As of a firewall that answers 200 and a page for a payload that it takes for an attack."""

    def firewall(call):
        return answer_of(PAGE if any(member.task_id == "c" for member in call.members) else b"OK")

    five.api = Counted(type("Firewall", (), {"call": staticmethod(firewall)}))
    five.drain()

    assert five.states(*FIVE) == ["SUCCEEDED", "SUCCEEDED", "DEAD", "SUCCEEDED", "SUCCEEDED"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \r\n",
        b"OK",
        b"\xff\xfe\x00",
        b"9" * 5000,
        b"null",
        b"true",
        b"5",
        b'"ok"',
        b"[]",
        b"[1, 2]",
        b"{}",
        b'{"status": "ok"}',
        b'[{"id": 17}, {"id": 18}]',
        b'{"results": []}',
        '{"status": "ok"}'.encode("utf-16"),
    ],
)
def test_a_body_that_names_no_outcome_leaves_the_status_as_it_is(body):
    assert answer_of(body) == Answer()


@pytest.mark.parametrize(
    "body",
    [
        json.dumps([REFUSED]).encode(),
        json.dumps({"data": {"results": [REFUSED]}}).encode(),
        json.dumps({"Results": [{"TaskId": "a", "Outcome": "Fail"}]}).encode(),
        json.dumps({"outcome": "fail"}).encode(),
        json.dumps(json.dumps({"results": [REFUSED]})).encode(),
        json.dumps({"body": json.dumps({"results": [REFUSED]})}).encode(),
        json.dumps([REFUSED]).encode("utf-16"),
    ],
    ids=["list", "within", "case", "whole", "text", "text within", "charset"],
)
def test_outcomes_in_another_form_are_no_success(body):
    assert answer_of(body).whole == MALFORMED


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"results": [REFUSED]}).encode()[:-2],
        b")]}'," + json.dumps({"results": [REFUSED]}).encode(),
        b"Notice: undefined index\n" + json.dumps({"results": [REFUSED]}).encode(),
        json.dumps(REFUSED).encode() + b"\n" + json.dumps(REFUSED).encode(),
        '{"results": [{"taskId": "a", "outcome": "fail", "detail": "\xfc"}]}'.encode("latin-1"),
        b'\xef\xbb\xbf{"results": [',
        b'[("a", "fail")]',
        b"outcome: fail",
    ],
    ids=["cut off", "prefix", "warning", "lines", "charset", "mark", "brackets", "word"],
)
def test_a_text_that_may_hold_outcomes_is_no_success(body):
    assert answer_of(body).whole == MALFORMED


@pytest.mark.parametrize(
    "body", [PAGE, b"\n <p>OK</p>", b"<?xml version='1.0'?><fault/>"], ids=["login", "part", "xml"]
)
def test_a_page_is_no_answer(body):
    assert answer_of(body).whole == NO_ANSWER


def test_tasks_that_a_body_leaves_out_succeed(five, service):
    service.body = json.dumps({"results": [REFUSED]}).encode()
    five.drain()

    assert (five.states(*FIVE), five.api.calls) == (["FAILED", *["SUCCEEDED"] * 4], 1)


@pytest.mark.parametrize("outcome", [Verdict.OK, Verdict.RETRY, Verdict.FAIL])
def test_an_outcome_of_a_task_that_was_not_sent_is_no_success_of_the_others(five, outcome):
    """The API meant one of the tasks, and nothing says which."""
    answers = [Answer(members={"A": Outcome(outcome), "b": Outcome(Verdict.OK)}), Answer()]
    five.api = Counted(type("Named", (), {"call": lambda self, call: answers.pop(0)})())
    five.drain()

    assert (five.states(*FIVE), five.api.calls) == (["SUCCEEDED"] * 5, 2)


@pytest.mark.parametrize(
    "result", [False, True, 0, "OK", [REFUSED], {"a": "fail"}, {"a": OK, "b": "ok"}], ids=repr
)
def test_a_function_that_returns_anything_but_outcomes_is_no_success(result):
    call = Call("t", "search", "b-1", 1, (Member("a", None),))
    whole = Function(lambda call: result).call(call).whole

    assert whole.verdict is Verdict.RETRY
    assert f"the function returned {type(result).__name__}" in whole.detail
