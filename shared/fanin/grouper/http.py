"""A batch API over HTTP: one POST a bundle, status and body read into outcomes."""

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
SAID = {"ok": Verdict.OK, "retry": Verdict.RETRY, "fail": Verdict.FAIL}


@dataclass(frozen=True, slots=True)
class HttpDownstream:
    """POSTs ``{bundleId, target, attempt, tasks: [{taskId, payload}]}`` to *url* with an ``Idempotency-Key``.

    A 2xx answers for all members, unless its body names some: ``{results: [{taskId, outcome: ok | retry |
    fail, detail?}]}``. A status in *retried*, and no answer within *timeout* seconds, has the bundle called
    again (``Retry-After`` in seconds is kept); any other status refuses it as a whole.
    """

    url: str
    timeout: float = 10.0
    headers: Mapping[str, str] = field(default_factory=dict)
    retried: frozenset[int] = RETRIED
    pool: PerProcess[urllib3.PoolManager] = field(default_factory=lambda: PerProcess(_pool))

    def call(self, call: Call) -> Answer:
        """The answer, in time: a socket's own patience begins anew with each byte that it hears."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        Thread(target=lambda: answers.put(self._exchange(call)), daemon=True).start()
        try:
            return answers.get(timeout=self.timeout)
        except Empty:
            return Answer(Outcome(Verdict.RETRY, "no answer: it takes too long"))

    def _exchange(self, call: Call) -> Answer:
        try:
            response = self._post(call)
            body = response.read(ANSWER_BYTES + 1, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Answer(Outcome(Verdict.RETRY, f"no answer: {type(error).__name__}"))
        if len(body) > ANSWER_BYTES:
            response.close()
            return Answer(Outcome(Verdict.RETRY, "the answer is too long"))
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
            return Answer(Outcome(Verdict.RETRY, "the answer cannot be read"))


def _pool() -> urllib3.PoolManager:
    return urllib3.PoolManager(retries=False)


def document(call: Call) -> dict[str, Any]:
    """The body of the request for a call."""
    tasks = [{"taskId": member.task_id, "payload": member.payload} for member in call.members]
    return {"bundleId": call.bundle_id, "target": call.target, "attempt": call.attempt, "tasks": tasks}


def results(body: bytes) -> dict[str, Outcome]:
    """The outcomes that a body names; errors of many kinds where it is not of the form."""
    if not body.strip():
        return {}
    named = json.loads(body).get("results", [])
    return {r["taskId"]: Outcome(SAID[r["outcome"]], str(r.get("detail") or "")) for r in named}


def retry_after(text: str | None) -> timedelta | None:
    """The header as a duration of at most 900 s; None for a date, or what is no number of seconds."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return timedelta(seconds=min(int(text), RETRY_AFTER_MAX))
