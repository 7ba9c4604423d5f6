"""The parts of the soak's load that its rules depend on."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from types import SimpleNamespace

import pytest
from urllib3.exceptions import ReadTimeoutError

from examples.catalog.system.batch_api import DONE, Request
from tests.soak.__main__ import arguments, note, table, text_of
from tests.soak.http_api import ATTEMPTS, InsistentApi
from tests.soak.referee import Rule
from tests.soak.soaking import Report
from tests.soak.work import Downstream


def test_a_bundle_is_done_once_though_it_is_called_again():
    api = Downstream("1", rejected=50, slow_seconds=0)
    request = Request("bundle", "target", 1, {str(n): {} for n in range(20)})
    first, second = api.judge(request), api.judge(request)

    assert (first.status, first.again, second.again) == (DONE, False, True)
    assert first.rejected == second.rejected


def test_a_bundle_that_was_refused_is_judged_anew():
    api = Downstream("1", throttled=100, slow_seconds=0)
    request = Request("bundle", "target", 1, {"t": {}})

    assert [api.judge(request).again for _ in range(2)] == [False, False]


def answering(*answers):
    """A pool that gives these answers, and keeps the keys of the requests."""
    left, keys = list(answers), []

    def request(method, url, body, headers):
        keys.append(headers["Idempotency-Key"])
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(status=answer, data=b"{}")

    return SimpleNamespace(request=request), keys


def test_a_post_is_repeated_under_one_key_and_each_repetition_is_counted():
    pauses = []
    api = InsistentApi("http://127.0.0.1:1", pauses.append)
    api.pool, keys = answering(502, ReadTimeoutError(None, "/", "late"), 201)

    assert api.post("/v1/batches", {}) == {}
    assert (len(keys), len(set(keys)), len(pauses)) == (3, 1, 2)


@pytest.mark.parametrize(("answers", "sent"), [([400], 1), ([500] * ATTEMPTS, ATTEMPTS)])
def test_a_post_that_is_refused_or_never_answered_is_an_error(answers, sent):
    api = InsistentApi("http://127.0.0.1:1", lambda _: None)
    api.pool, keys = answering(*answers)

    with pytest.raises(RuntimeError):
        api.post("/v1/batches", {})

    assert len(keys) == sent


def test_the_report_is_a_table_and_a_sentence():
    rules = (Rule("all is well", 3), Rule("no loss", 2, ("a is lost",)))
    memory = {"emulator": "▁ 1, at most 1, at last 1 MB"}
    report = Report(rules, Counter(direct=2), Counter({"workers killed": 1}), memory, 30.0)

    assert table(report)[1][1] == ["no loss", "BROKEN", "2 checked, 1 broken: a is lost"]
    assert "2 direct" in note(report)
    assert "1 workers killed" in text_of(report)
    assert json.dumps(table(report))
    given = argparse.Namespace(minutes=30.0, seed=1, calm=True, spark=False, faults=0.0)
    assert arguments(given) == "--minutes 30 --seed 1 --faults 0 --calm"
