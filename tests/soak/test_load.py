"""The parts of the soak's load that its rules depend on."""

from __future__ import annotations

from types import SimpleNamespace

from urllib3.exceptions import ReadTimeoutError

from pipeline.demo.batch_api import DONE, Request
from tests.soak.http_api import InsistentApi
from tests.soak.work import Downstream


def test_a_bundle_is_done_once_though_it_is_called_again():
    api = Downstream("1", rejected=50, slow_seconds=0)
    request = Request("bundle", "target", 1, {str(n): {} for n in range(20)})
    first, second = api.judge(request), api.judge(request)

    assert (first.status, first.again, second.again) == (DONE, False, True)
    assert first.rejected == second.rejected


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
