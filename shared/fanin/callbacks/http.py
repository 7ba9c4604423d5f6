"""Calls a webhook: one POST of an event, signed; its status decides whether it is sent again."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import urllib3

from fanin.aws.forking import PerProcess
from fanin.aws.rotating_secret import Refreshed, SecretUnreadable
from fanin.callbacks.secrets import Keys
from fanin.grouper.batch_api_calls.http import pool_without_retries
from fanin.grouper.batch_api_calls.timeouts import answered_within
from fanin.grouper.rules.downstream import Answer
from fanin.grouper.rules.responses import REFUSED_CREDENTIALS, refusal_of, retried, retry_after


def signature(keys: Iterable[str], at: int, body: bytes) -> str:
    """Return the header ``Fanin-Signature``: the time in seconds, and an HMAC-SHA256 by each key.

    Each is ``v1=`` and the hex digest of ``<at>.<body>``; a receiver accepts the request if one matches.
    """
    signed = f"{at}.".encode() + body
    digests = (hmac.new(key.encode(), signed, hashlib.sha256).hexdigest() for key in keys)
    return ",".join([f"t={at}", *(f"v1={digest}" for digest in digests)])


@dataclass(frozen=True, slots=True)
class Webhook:
    """POSTs the details of events to *url*, within *timeout* seconds, without following redirects.

    A 2xx is a success. 408, 425, 429, any 5xx, a 401 or 403 and no response are to be retried; after a 401 or
    403 the *keys* are read again. Any other status refuses the event.
    """

    url: str
    timeout: float
    keys: Refreshed[Keys]
    clock: Callable[[], float] = time.time
    pool: PerProcess[urllib3.PoolManager] = field(default_factory=lambda: PerProcess(pool_without_retries))

    def post(self, event_id: str, body: bytes) -> Answer:
        """Send an event, and return the outcome."""
        try:
            keys = self.keys.value()
        except SecretUnreadable as error:
            return retried(str(error))
        signed = signature(keys, int(self.clock()), body)
        headers = {
            "Content-Type": "application/json",
            "Fanin-Event-Id": event_id,
            "Fanin-Signature": signed,
            "User-Agent": "fanin",
        }
        return answered_within(self.timeout, lambda: self._exchange(body, headers, keys))

    def _exchange(self, body: bytes, headers: Mapping[str, str], keys: Keys) -> Answer:
        response = self.pool().request(
            "POST",
            self.url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(total=self.timeout),
            redirect=False,
            preload_content=False,
        )
        response.close()  # what it says beside its status is not read
        if 200 <= response.status < 300:
            return Answer()
        if response.status in REFUSED_CREDENTIALS:
            self.keys.refused(keys)
            return retried(f"status {response.status}: the webhook refused the signature")
        after = retry_after(response.headers.get("Retry-After"))
        if response.status >= 500:
            return retried(f"status {response.status}", after)
        return refusal_of(response.status, after)
