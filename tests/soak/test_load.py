"""The parts of the load of faults and soak that their rules depend on."""

from __future__ import annotations

from types import SimpleNamespace

from urllib3.exceptions import ReadTimeoutError

from examples.catalog.system.batch_api import DONE, Request
from tests.faults.client import Client
from tests.soak.work import Downstream


def test_a_bundle_is_done_once_though_it_is_called_again():
    api = Downstream("1", rejected=50, slow_seconds=0)
    request = Request("bundle", "target", 1, {str(n): {} for n in range(20)})
    first, second = api.judge(request), api.judge(request)

    assert (first.status, first.again, second.again) == (DONE, False, True)
    assert first.rejected == second.rejected


def test_a_post_is_repeated_under_one_key_and_each_repetition_is_counted():
    pauses, keys = [], []
    answers = [503, ReadTimeoutError(None, "/", "late"), 201]

    def request(method, url, body, headers):
        keys.append(headers["Idempotency-Key"])
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(status=answer, data=b'{"batchId": "b"}', headers={})

    api = Client("http://127.0.0.1:1", pauses.append)
    api.pool = SimpleNamespace(request=request)

    assert api.post("/v1/batches", {}) == {"batchId": "b"}
    assert (len(keys), len(set(keys)), len(pauses)) == (3, 1, 2)
