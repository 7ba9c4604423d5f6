"""Calls a batch API over HTTP: one POST for each bundle; status and body become outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import urllib3

from fanin.aws.forking import PerProcess
from fanin.grouper.batch_api_calls.secrets import SecretHeaders, SecretUnreadable, without_secrets
from fanin.grouper.batch_api_calls.timeouts import answered_within
from fanin.grouper.rules.downstream import Answer, Call
from fanin.grouper.rules.responses import (
    ANSWER_BYTES,
    REFUSED_CREDENTIALS,
    RETRIED,
    answer_of,
    document,
    refusal_of,
    retried,
    retry_after,
)

if TYPE_CHECKING:
    from fanin.aws.signing import Sign

NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class HttpDownstream:
    """POSTs ``{bundleId, target, attempt, tasks: [{taskId, payload}]}`` to *url* with an ``Idempotency-Key``.

    A 2xx is a success of all members, except of those that its body names: ``{results: [{taskId, outcome: ok
    | retry | fail, detail?}]}``. After a page or a body that may name outcomes in another form, a status in
    *retried*, or no response within *timeout* seconds, the bundle is called again (a ``Retry-After`` in
    seconds is honoured); any other status refuses the whole bundle.

    *secret*: has headers of each request. *sign*: returns the headers with a signature. With either,
    a 401 or 403 refuses the credentials and not the bundle: it is called again, with the secret read again.
    """

    url: str
    timeout: float = 10.0
    headers: Mapping[str, str] = field(default_factory=dict)
    retried: frozenset[int] = RETRIED
    pool: PerProcess[urllib3.PoolManager] = field(default_factory=lambda: PerProcess(pool_without_retries))
    secret: SecretHeaders | None = None
    sign: Sign | None = None

    def call(self, call: Call) -> Answer:
        """Return the answer within the timeout of *call*."""
        seconds = call.seconds(self.timeout)
        return answered_within(seconds, lambda: self._exchange(call, seconds))

    def _exchange(self, call: Call, seconds: float) -> Answer:
        try:
            secret = self.secret.headers() if self.secret else NO_HEADERS
        except SecretUnreadable as error:
            return retried(str(error))
        try:
            response = self._post(call, seconds, secret)
            body = response.read(ANSWER_BYTES + 1, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return retried(f"no response: {type(error).__name__}")
        if len(body) > ANSWER_BYTES:
            response.close()
        else:
            response.release_conn()
        return self._answer(response, body, secret)

    def _post(self, call: Call, seconds: float, secret: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        body = json.dumps(document(call)).encode()
        own = {"Content-Type": "application/json", "Idempotency-Key": call.idempotency_key}
        headers: Mapping[str, str] = merged(self.headers, secret, own)
        if self.sign is not None:
            headers = self.sign("POST", self.url, body, headers)
        return self.pool().request(
            "POST",
            self.url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(total=seconds),
            redirect=False,
            preload_content=False,
        )

    def _answer(self, response: urllib3.BaseHTTPResponse, body: bytes, secret: Mapping[str, str]) -> Answer:
        status = response.status
        if 200 <= status < 300:
            return answer_of(body, lambda detail: without_secrets(detail, secret))
        if status in self.retried:
            return retried(f"status {status}", retry_after(response.headers.get("Retry-After")))
        if status in REFUSED_CREDENTIALS and (self.secret or self.sign):
            if self.secret:
                self.secret.refused(secret)
            return retried(f"status {status}: the batch API refused the credentials")
        return refusal_of(status)


def merged(*headers: Mapping[str, str]) -> dict[str, str]:
    """Return all headers, each name once whatever its case: with the last value."""
    by_name = {name.lower(): (name, value) for each in headers for name, value in each.items()}
    return dict(by_name.values())


def pool_without_retries() -> urllib3.PoolManager:
    return urllib3.PoolManager(retries=False)
