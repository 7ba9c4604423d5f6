"""Requests to the API with the credentials of the user, none of which reaches the browser or a log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import urllib3
from botocore.exceptions import BotoCoreError
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from fanin.aws.limits import ANSWER_SECONDS, CONNECT_SECONDS
from fanin.client.transports.http import signer_of
from fanin.client.transports.signing import Headers, Sign
from fanin.dashboard.problems import dashboard_refusal
from fanin.errors import PROBLEM, InvalidRequest, Refusal

ANSWER_MAX = 8 * 1024 * 1024
CONNECTIONS = 16
JSON = "application/json"
_BASE = re.compile(r"https?://[^/?#@\s]+(?:/[^?#\s]*)?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page gets: a status, a body and its media type."""

    status: int
    body: bytes
    media: str

    @classmethod
    def of(cls, refused: Refusal) -> Answer:
        """Return the answer that *refused* is."""
        return cls(refused.status, refused.document(), PROBLEM)


class Upstream:
    """The API at *url*, called with the headers that *sign* adds. Raises InvalidRequest for another URL."""

    def __init__(self, url: str, sign: Sign | None = None) -> None:
        self.url = url.strip().rstrip("/")
        if not _BASE.fullmatch(self.url):
            raise InvalidRequest("the API's URL is https://host or https://host/stage", field="url")
        self._sign = sign
        timeout = Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS)
        self._pool = urllib3.PoolManager(maxsize=CONNECTIONS, timeout=timeout, retries=False)

    @property
    def host(self) -> str:
        """Scheme and host of the API."""
        return "/".join(self.url.split("/", 3)[:3])

    def send(
        self,
        method: str,
        path: str,
        query: str = "",
        body: bytes | None = None,
        headers: Headers | None = None,
    ) -> Answer:
        """Send a request and return the API's answer, or a problem document in place of it."""
        url = f"{self.url}{path}{_encoded(query)}"
        sent = {"Accept": f"{JSON}, {PROBLEM}", **(headers or {})}
        try:
            signed = self._sign(method, url, body, sent) if self._sign else sent
        except (BotoCoreError, InvalidRequest) as error:
            return Answer.of(_no_credentials(error))
        try:
            return self._answer(method, url, body, signed)
        except (HTTPError, ValueError) as error:  # its text may quote a header
            return Answer.of(self._no_answer(type(error).__name__))

    def _answer(self, method: str, url: str, body: bytes | None, headers: Headers) -> Answer:
        answer = self._pool.request(
            method, url, body=body, headers=dict(headers), redirect=False, preload_content=False
        )
        try:
            read = answer.read(ANSWER_MAX + 1)
        finally:
            answer.release_conn()
        media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if len(read) > ANSWER_MAX:
            answer.close()
            return Answer.of(self._no_answer(f"its answer has more than {ANSWER_MAX:,} bytes"))
        return self._passed_on(answer.status, media, read)

    def _passed_on(self, status: int, media: str, body: bytes) -> Answer:
        """Return the API's answer, but not the gateway's own errors, which may quote signed headers."""
        if status < 300 and media == JSON:
            return Answer(status, body, JSON)
        if status >= 400 and media == PROBLEM:
            return Answer(status, body, PROBLEM)
        if status in _OF_GATEWAY:
            return Answer.of(_OF_GATEWAY[status])
        return Answer.of(self._no_answer(f"status {status} without a document"))

    def _no_answer(self, why: str) -> Refusal:
        detail = f"{self.host} gave no answer of the API ({why})"
        return dashboard_refusal(502, "no-answer", "The API does not answer", detail)


_OF_GATEWAY: Mapping[int, Refusal] = {
    401: dashboard_refusal(
        401,
        "credentials",
        "The API wants other credentials",
        "set FANIN_TOKEN to a token that has not expired",
    ),
    403: dashboard_refusal(
        403,
        "forbidden",
        "The API refuses your credentials",
        "they are of another account, have expired, or lack execute-api:Invoke on this route",
    ),
    404: dashboard_refusal(
        404, "no-route", "The API has no such route", "this part of fanin is not deployed there"
    ),
    429: dashboard_refusal(
        429, "throttled", "The API throttles", "too many requests reach it; the page asks again later"
    ),
}


def upstream_of(url: str, sign: Sign | None = None, region: str | None = None) -> Upstream:
    """Return the API at *url*, signed by *sign*, else for AWS; on loopback not at all. Raises InvalidRequest.

    *region*: of the signatures, if the URL does not have it.
    """
    host = urlsplit(Upstream(url).url).hostname or ""
    return Upstream(url, sign or signer_of(host, region))


def _encoded(query: str) -> str:
    """Return *query* as SigV4 needs it: percent signs, no plus."""
    pairs = parse_qsl(query, keep_blank_values=True)
    return f"?{urlencode(pairs, quote_via=quote)}" if pairs else ""


def _no_credentials(error: Exception) -> Refusal:
    detail = f"{type(error).__name__}: see `aws sts get-caller-identity`, or sign in with `aws sso login`"
    return dashboard_refusal(502, "no-credentials", "There are no usable AWS credentials", detail)
