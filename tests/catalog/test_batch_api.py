"""The batch API as the group-batcher calls it: over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from examples.catalog.system.batch_api import BatchApi, Request, Ruling
from fanin.grouper import Answer, Call, Member, Outcome, Verdict
from fanin.grouper.calls.http import HttpDownstream

CALL = Call("tenant", "games", "bundle-1", 2, (Member("t1", {"n": 1}), Member("t2", None)))

DONE = Ruling(200)


@dataclass
class RecordingJudge:
    """A judge of one ruling, which remembers what it was asked."""

    ruling: Ruling = DONE
    asked: list[Request] = field(default_factory=list)

    def judge(self, request: Request) -> Ruling:
        self.asked.append(request)
        return self.ruling


@pytest.fixture
def judge() -> RecordingJudge:
    return RecordingJudge()


@pytest.fixture
def api(judge: RecordingJudge) -> Iterator[BatchApi]:
    with BatchApi(judge) as api:
        yield api


def test_a_call_reaches_the_judge_and_its_success_is_in_the_book(
    api: BatchApi, judge: RecordingJudge
) -> None:
    answer = HttpDownstream(api.url).call(CALL)

    assert answer == Answer()
    assert judge.asked == [Request("bundle-1", "games", 2, {"t1": {"n": 1}, "t2": None})]
    assert api.successes() == Counter(t1=1, t2=1)


def test_a_rejected_task_fails_by_itself_and_is_no_success(api: BatchApi, judge: RecordingJudge) -> None:
    judge.ruling = Ruling(200, rejected={"t2"})

    assert HttpDownstream(api.url).call(CALL).members == {"t2": Outcome(Verdict.FAIL, "rejected")}
    assert api.successes() == Counter(t1=1)


def test_of_a_lost_answer_only_the_book_knows(api: BatchApi, judge: RecordingJudge) -> None:
    judge.ruling = Ruling(200, lost=True)
    downstream = HttpDownstream(api.url)

    assert downstream.call(CALL).whole == Outcome(Verdict.RETRY, "no response: ProtocolError")
    assert api.successes() == Counter(t1=1, t2=1)
    judge.ruling = Ruling(200, again=True)
    assert downstream.call(CALL) == Answer()
    assert api.successes() == Counter(t1=1, t2=1)
