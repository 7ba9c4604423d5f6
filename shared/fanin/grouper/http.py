"""Calls a batch API over HTTP: one POST for each bundle; status and body become outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import urllib3

from fanin.aws.forking import PerProcess
from fanin.grouper.downstream import Answer, Call
from fanin.grouper.model import Outcome, Verdict

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
ANSWER_BYTES = 1_048_576
RETRY_AFTER_MAX = 900
VERDICTS = {"ok": Verdict.OK, "retry": Verdict.RETRY, "fail": Verdict.FAIL}


@dataclass(frozen=True, slots=True)
class HttpDownstream:
    """POSTs ``{bundleId, target, attempt, tasks: [{taskId, payload}]}`` to *url* with an ``Idempotency-Key``.

    A 2xx is a success of all members, except of those that its body names: ``{results: [{taskId, outcome: ok
    | retry | fail, detail?}]}``. After a status in *retried*, or no response within *timeout* seconds, the
    bundle is called again (a ``Retry-After`` in seconds is honoured); any other status refuses the whole
    bundle.
    """

    url: str
    timeout: float = 10.0
    headers: Mapping[str, str] = field(default_factory=dict)
    retried: frozenset[int] = RETRIED
    pool: PerProcess[urllib3.PoolManager] = field(default_factory=lambda: PerProcess(_pool))

    def call(self, call: Call) -> Answer:
        """Return the answer within *timeout*. A socket's own timeout starts again with each byte received."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        Thread(target=lambda: answers.put(self._exchange(call)), daemon=True).start()
        try:
            return answers.get(timeout=self.timeout)
        except Empty:
            return Answer(Outcome(Verdict.RETRY, "no response within the timeout"))

    def _exchange(self, call: Call) -> Answer:
        try:
            response = self._post(call)
            body = response.read(ANSWER_BYTES + 1, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Answer(Outcome(Verdict.RETRY, f"no response: {type(error).__name__}"))
        if len(body) > ANSWER_BYTES:
            response.close()
            return Answer(Outcome(Verdict.RETRY, f"the response is longer than {ANSWER_BYTES} bytes"))
        response.release_conn()
        return self._answer(response, body)

    def _post(self, call: Call) -> urllib3.BaseHTTPResponse:
        headers = dict(self.headers)
        headers |= {"Content-Type": "application/json", "Idempotency-Key": call.idempotency_key}
        return self.pool().request(
            "POST",
            self.url,
            body=json.dumps(document(call)).encode(),
            headers=headers,
            timeout=urllib3.Timeout(total=self.timeout),
            redirect=False,
            preload_content=False,
        )

    def _answer(self, response: urllib3.BaseHTTPResponse, body: bytes) -> Answer:
        if response.status in self.retried:
            after = retry_after(response.headers.get("Retry-After"))
            return Answer(Outcome(Verdict.RETRY, f"status {response.status}"), retry_after=after)
        if not 200 <= response.status < 300:
            return Answer(Outcome(Verdict.FAIL, f"status {response.status}"))
        try:
            return Answer(members=results(body))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return Answer(
                Outcome(Verdict.RETRY, "the response is not of the form {results: [{taskId, outcome}]}")
            )


def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager(retries=False)


def document(call: Call) -> dict[str, Any]:
    """Return the body of the request for a call."""
    tasks = [{"taskId": member.task_id, "payload": member.payload} for member in call.members]
    return {"bundleId": call.bundle_id, "target": call.target, "attempt": call.attempt, "tasks": tasks}


def results(body: bytes) -> dict[str, Outcome]:
    """Return the outcomes that a body names, by task id; raise an error of any type if it is malformed."""
    if not body.strip():
        return {}
    named = json.loads(body).get("results", [])
    return {r["taskId"]: Outcome(VERDICTS[r["outcome"]], str(r.get("detail") or "")) for r in named}


def retry_after(text: str | None) -> timedelta | None:
    """Return the header as a duration of at most 900 s; None if it is not a number of seconds."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return timedelta(seconds=min(int(text), RETRY_AFTER_MAX))
