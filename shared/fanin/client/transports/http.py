"""The transport over HTTP; it retries every request, because each POST has an idempotency key."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.util import Timeout, Url, parse_url

from fanin.aws.forking import PerProcess
from fanin.aws.limits import ANSWER_SECONDS
from fanin.client.http_bodies import documents
from fanin.client.http_bodies.codec import Document
from fanin.client.http_bodies.exchange import Limits, Received, Request, Sign, exchange_here, unanswered
from fanin.client.items import Items, merged
from fanin.client.timer import REAL
from fanin.client.transports import retrying
from fanin.client.transports.state_cache import States, may_have_ended
from fanin.client.transports.transport import Cursor, TooManyBytes
from fanin.errors import InvalidRequest, NotFound, StoreUnavailable
from fanin.tracker import State, checked_batch_id

if TYPE_CHECKING:
    from fanin.client.model import (
        Cancelled,
        Closed,
        Deleted,
        Failures,
        Pairs,
        Publication,
        QueueDescription,
        Ranges,
        Rows,
        Status,
        Summaries,
    )
    from fanin.client.result_files import ResultFiles
    from fanin.client.task_model import (
        BundleSummary,
        ListedTask,
        NewTask,
        Registered,
        TargetSummary,
        TaskResult,
        TaskStatus,
    )
    from fanin.client.transports.reports import AckReport
    from fanin.tracker import Ack, BatchFilter, BatchMap, OpenBatch
    from fanin.tracker.batch_changes.reopening import ReopenBatch

T = TypeVar("T")
CONNECT_SECONDS = 3.0
ATTEMPTS = 5
CONNECTIONS = 32
ROWS_A_PAGE = "100"
RANGES_A_PAGE = "1000"
CHILDREN_A_PAGE = "100"
BODY_MAX = 256 * 1024
"""The largest body that the API accepts, in bytes."""
LEAST_SECONDS = 0.05
"""For which an attempt waits, however little time its call has left."""
LABEL_MAX = 63
FOUND, REDIRECTED = 200, 300
NOT_CONNECTED = (NewConnectionError, ConnectTimeoutError)


class HttpTransport:
    """Calls the API at *url*.

    *region*: the region of the signatures, if the host does not contain it. *session*: of boto3, whose
    credentials sign. *sign*: replaces the AWS signatures, for example by a bearer token. Each of the
    *attempts* waits *read_seconds* at most, and all of them together about *call_seconds*. Raises
    InvalidRequest for a malformed URL.
    """

    has_api: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        *,
        region: str | None = None,
        sign: Sign | None = None,
        session: Any = None,
        attempts: int = ATTEMPTS,
        read_seconds: float = ANSWER_SECONDS,
        call_seconds: float = math.inf,
        pause: Callable[[float], None] = REAL.sleep,
    ) -> None:
        self._base = checked_url(url)
        self._sign = sign or signer_of(self._base.host or "", region, session)
        self._attempts, self._call_seconds, self._read_seconds = attempts, call_seconds, read_seconds
        self._pause = pause
        timeout = Timeout(connect=CONNECT_SECONDS, read=read_seconds)
        pool = partial(urllib3.PoolManager, maxsize=CONNECTIONS, timeout=timeout, retries=False)
        self._pool = PerProcess(pool)
        self._states = States(self._state)

    def open(self, spec: OpenBatch, key: str) -> str:
        return self._post("/v1/batches", documents.open_body(spec), key, documents.batch_id_of)

    def get(self, batch_id: str) -> Status:
        status = self._get(_path(batch_id), {}, documents.status_of)
        self._states.note(batch_id, status.state)
        return status

    def poll(self, batch_id: str) -> State:
        state = self._get(_path(batch_id), {"progress": "none"}, documents.state_of)
        self._states.note(batch_id, state)
        return state

    def progress_token(self, batch_id: str, seconds: int) -> str:
        body = {"expiresSeconds": seconds}
        return self._write("POST", _path(batch_id, "/token"), body, {}, documents.token_of)

    def map(self, batch_id: str, cells: int, start: int, stop: int | None) -> BatchMap:
        asked = {"cells": str(cells), "from": str(start), "to": None if stop is None else str(stop)}
        return self._get(_path(batch_id, "/map"), asked, documents.map_of)

    def add(self, batch_id: str, count: int, key: str) -> Items:
        return self._post(_path(batch_id, "/items"), {"count": count}, key, documents.items_of)

    def close(self, batch_id: str, key: str) -> Closed:
        return self._end(batch_id, "/close", {}, key, documents.closed_of)

    def cancel(self, batch_id: str, reason: str | None, key: str, children: bool = False) -> Cancelled:
        body = documents.cancel_body(reason, children)
        return self._end(batch_id, "/cancel", body, key, documents.cancelled_of)

    def children(self, batch_id: str, item_id: str | None, done: bool, cursor: Cursor) -> Summaries:
        query = {"itemId": item_id, "limit": CHILDREN_A_PAGE, "cursor": cursor}
        query |= {"done": "true"} if done else {}
        return self._get(_path(batch_id, "/children"), query, documents.summaries_of)

    def reopen(self, request: ReopenBatch, key: str) -> Items:
        path = _path(request.origin_batch_id, "/reopen")
        return self._post(path, documents.reopen_body(request), key, documents.items_of)

    def origin(self, batch_id: str, cursor: Cursor) -> Pairs:
        reader = partial(documents.pairs_of, batch_id)
        return self._get(_path(batch_id, "/origin"), {"limit": RANGES_A_PAGE, "cursor": cursor}, reader)

    def end(self, batch_id: str, reason: str, key: str) -> Cancelled:
        return self._end(batch_id, "/end", {"reason": reason}, key, documents.cancelled_of)

    def delete(self, batch_id: str) -> None:
        self._delete(_path(batch_id), {}, documents.batch_id_of)

    def delete_ended(self, before: datetime, cursor: Cursor) -> Deleted:
        query = {"endedBefore": before.isoformat(), "cursor": cursor}
        return self._delete("/v1/batches", query, documents.deleted_of)

    def notify(self, batch_id: str, key: str) -> str:
        return self._post(_path(batch_id, "/notify"), {}, key, documents.event_id_of)

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        report = self.ack_as(acks, key, documents.report_of)
        self._states.forget(may_have_ended(acks, report))
        return report

    def verdicts(self, acks: Sequence[Ack]) -> AckReport:
        return self._write("POST", "/v1/acks", _acks_body(acks, dryRun=True), {}, documents.report_of)

    def ack_as(self, acks: Sequence[Ack], key: str | None, reader: Callable[[Document], T]) -> T:
        """Ack as ``ack`` does, and return what *reader* makes of the answer."""
        return self._post("/v1/acks", _acks_body(acks), _one_key(acks) if key is None else key, reader)

    def state_of(self, batch_id: str) -> State | None:
        return self._states.of(batch_id)

    def outstanding(self, batch_id: str, cursor: Cursor) -> Ranges:
        path = _path(batch_id, "/outstanding")
        return self._get(path, {"cursor": cursor}, partial(documents.ranges_of, batch_id))

    def failures(self, batch_id: str, cursor: Cursor) -> Failures:
        path = _path(batch_id, "/failures")
        return self._get(path, {"cursor": cursor}, partial(documents.failures_of, batch_id))

    def results(self, batch_id: str, cursor: Cursor) -> ResultFiles:
        from fanin.client.result_files import ResultFile, ResultFiles  # noqa: PLC0415  # few requests read results

        links, ready, after = self._result_links(batch_id, cursor)
        reads = [partial(self._file, batch_id, cursor, at, url) for at, (url, _) in enumerate(links)]
        files = (ResultFile(last, read) for (_, last), read in zip(links, reads, strict=True))
        return ResultFiles(ready, tuple(files), after)

    def _result_links(self, batch_id: str, cursor: Cursor) -> tuple[list[tuple[str, int]], bool, Cursor]:
        return self._get(_path(batch_id, "/results"), {"cursor": cursor}, documents.result_links_of)

    def _file(self, batch_id: str, cursor: Cursor, at: int, url: str) -> bytes:
        """Return the content of a file; a link that has expired, as the reader was slow, is renewed."""
        for attempt in range(self._attempts):
            request = Request("GET", url, None, {})
            found = self._once(request, None, time.monotonic() + self._read_seconds)
            if found.status == FOUND:
                return found.body
            self._pause(retrying.pause_seconds(attempt, 0.0, random.random()))
            url, _ = self._result_links(batch_id, cursor)[0][at]
        failure = found.failure or f"status {found.status}"
        raise StoreUnavailable(f"a file of the results of batch {batch_id} cannot be read: {failure}")

    def outstanding_of(
        self, batch_id: str, group_id: str, first: int, last: int, failed: bool = False
    ) -> tuple[Items, ...]:
        asked = {"groupId": group_id, "from": str(first), "to": str(last)}
        reader = partial(documents.ranges_of, batch_id)
        found = self._get(_path(batch_id, "/outstanding"), asked, reader).items
        if failed and sum(map(len, found)) <= last - first:
            found = merged(*found, *self._get(_path(batch_id, "/failures"), asked, reader).items)
        return found

    def register(self, task: NewTask, key: str) -> Registered:
        from fanin.client.http_bodies import task_documents  # noqa: PLC0415  # most clients register no task

        return self._post("/v1/tasks", task_documents.task_body(task), key, task_documents.registered_of)

    def register_all(self, tasks: Sequence[NewTask], key: str) -> tuple[TaskResult, ...]:
        from fanin.client.http_bodies import task_documents  # noqa: PLC0415  # see register

        return self._post("/v1/tasks", task_documents.tasks_body(tasks), key, task_documents.results_of)

    def task(self, task_id: str) -> TaskStatus:
        from fanin.client.http_bodies import task_documents  # noqa: PLC0415  # see register

        return self._get(f"/v1/tasks/{quote(task_id, safe='')}", {}, task_documents.task_of)

    def tasks(self, target: str, state: str, cursor: Cursor) -> Rows[ListedTask]:
        from fanin.client.http_bodies import task_documents  # noqa: PLC0415  # see register

        query = {"target": target, "state": state, "limit": ROWS_A_PAGE, "cursor": cursor}
        return self._get("/v1/tasks", query, task_documents.tasks_of)

    def bundles(self, target: str, state: str | None, cursor: Cursor) -> Rows[BundleSummary]:
        from fanin.client.http_bodies import task_documents  # noqa: PLC0415  # see register

        query = {"target": target, "state": state, "limit": ROWS_A_PAGE, "cursor": cursor}
        return self._get("/v1/bundles", query, task_documents.bundles_of)

    def targets(self, cursor: Cursor) -> Rows[TargetSummary]:
        from fanin.client.http_bodies import task_documents  # noqa: PLC0415  # see register

        return self._get("/v1/targets", {"cursor": cursor}, task_documents.targets_of)

    def batches(self, wanted: BatchFilter, cursor: Cursor) -> Summaries:
        query = {**documents.filter_query(wanted), "cursor": cursor}
        return self._get("/v1/batches", query, documents.summaries_of)

    def publish_object(self, body: Document, key: str) -> str:
        return self._post("/v1/publications", body, key, documents.batch_id_of)

    def publication(self, batch_id: str) -> Publication:
        return self._get(f"/v1/publications/{checked_batch_id(batch_id)}", {}, documents.publication_of)

    def create_queue(self, name: str, parts: int | None) -> QueueDescription:
        body = {} if parts is None else {"parts": parts}
        path = f"/v1/queues/{quote(name, safe='')}"
        return self._write("PUT", path, body, {}, documents.queue_of)

    def administer(
        self,
        method: str,
        path: str,
        given: Document,
        reader: Callable[[Document], T],
        key: str | None = None,
    ) -> T:
        if method == "GET":
            return self._get(path, given, reader)
        return self._write(method, path, given, {} if key is None else {"Idempotency-Key": key}, reader)

    def _end(
        self,
        batch_id: str,
        action: str,
        body: Document,
        key: str,
        reader: Callable[[Document], T],
    ) -> T:
        """Send a request that may end a batch, whose state is read again, whatever the answer."""
        try:
            return self._post(_path(batch_id, action), body, key, reader)
        finally:
            self._states.forget([batch_id])

    def _state(self, batch_id: str) -> State | None:
        """Read the state of a batch; None if there is none, or it has expired."""
        with suppress(NotFound):
            return self.poll(batch_id)
        return None

    def _get(
        self,
        path: str,
        query: Mapping[str, str | None],
        reader: Callable[[Document], T],
        method: str = "GET",
    ) -> T:
        given = {name: value for name, value in query.items() if value is not None}
        encoded = urlencode(given, quote_via=quote)
        request = self._request(method, f"{path}?{encoded}" if encoded else path, None, {})
        return documents.read(self._send(request), reader)

    def _delete(self, path: str, query: Mapping[str, str | None], reader: Callable[[Document], T]) -> T:
        return self._get(path, query, reader, method="DELETE")

    def _post(self, path: str, body: Document, key: str, reader: Callable[[Document], T]) -> T:
        return self._write("POST", path, body, {"Idempotency-Key": key}, reader)

    def _write(
        self,
        method: str,
        path: str,
        body: Document,
        headers: Mapping[str, str],
        reader: Callable[[Document], T],
    ) -> T:
        json_headers = {"Content-Type": "application/json", **headers}
        request = self._request(method, path, json.dumps(body).encode(), json_headers)
        return documents.read(self._send(request), reader)

    def _request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Request:
        accepted = "application/json, application/problem+json"
        return Request(method, self._base.url + path, body, {"Accept": accepted, **headers})

    def _send(self, request: Request) -> bytes:
        """Return the body of the answer; retries are bounded, jittered and wait for ``Retry-After``."""
        until = time.monotonic() + self._call_seconds
        for attempt in range(self._attempts):
            found = self._once(request, self._sign, until)
            asked = retrying.retry_after_seconds(found.retry_after, time.time())
            pause = retrying.pause_seconds(attempt, asked, random.random())
            is_late = time.monotonic() + pause >= until or attempt + 1 == self._attempts
            if is_late or not retrying.is_worth_it(found.status, asked):
                break
            self._pause(pause)
        return _checked(found, asked, str(self._base.netloc), attempt + 1)

    def _once(self, request: Request, sign: Sign | None, until: float) -> Received:
        """Send a request, and wait for its answer *until* that time at the most."""
        read = max(LEAST_SECONDS, min(self._read_seconds, until - time.monotonic()))
        limits = Limits(min(CONNECT_SECONDS, read), read, until)
        exchange = exchange_here()
        return (self._exchanged if exchange is None else exchange.once)(request, sign, limits)

    def _exchanged(self, request: Request, sign: Sign | None, limits: Limits) -> Received:
        """Send a request in this thread."""
        headers = request.headers
        if sign:
            headers = sign(request.method, request.url, request.body, headers)
        try:
            answer = self._pool().request(
                request.method,
                request.url,
                body=request.body,
                headers=headers,
                redirect=False,
                timeout=Timeout(connect=limits.connect, read=limits.read),
            )
        except HTTPError as error:
            host = str(parse_url(request.url).netloc)
            return unanswered(host, error, is_connected=not isinstance(error, NOT_CONNECTED))
        return Received(answer.status, answer.data, answer.headers.get("Retry-After", ""))


def _checked(found: Received, retry_after: float, host: str, attempts: int) -> bytes:
    """Return the body of a successful answer; raise one of ``fanin.errors`` for any other.

    *host*: which answered to the last of *attempts*.
    """
    if found.failure:
        raise StoreUnavailable(found.failure)
    if not FOUND <= found.status < REDIRECTED:
        raise documents.error_of(found.status, found.body, retry_after, host, attempts)
    return found.body


def checked_url(url: str) -> Url:
    """Return the parsed base URL: scheme, host and optional stage. Raises InvalidRequest."""
    try:
        parsed = parse_url(url.strip().rstrip("/"))
    except HTTPError as error:
        raise InvalidRequest(
            f"{url!r} is not a URL; pass https://host or https://host/stage", field="url"
        ) from error
    extras = parsed.auth or parsed.query or parsed.fragment or not _is_host(parsed.host or "")
    if parsed.scheme not in ("http", "https") or not parsed.host or extras:
        raise InvalidRequest(f"the API's URL is https://host or https://host/stage, not {url!r}", field="url")
    return parsed


def _is_host(name: str) -> bool:
    """Return whether each label of *name* has 1 to 63 characters, as the domain name system demands."""
    return all(0 < len(label) <= LABEL_MAX for label in name.removesuffix(".").split("."))


def signer_of(host: str, region: str | None, session: Any = None) -> Sign | None:
    """Return the AWS signer; None for a loopback host, because a local run needs no signatures."""
    if is_loopback(host.strip("[]")):
        return None
    from fanin.client.transports.signing import Signer  # noqa: PLC0415  # importing botocore takes 0.2 s

    # A session of boto3 has one of botocore.
    return Signer(host, region, getattr(session, "_session", session))


def bearer(token: str, url: str) -> Sign:
    """Return what sends *token* to *url* in place of a signature.

    Raises InvalidRequest for a token that no header has, and for a URL that shows it on its way.
    """
    at = checked_url(url)
    if at.scheme != "https" and not is_loopback((at.host or "").strip("[]")):
        raise InvalidRequest(f"a token is sent over https only, and the URL is {url}", field="token")
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise InvalidRequest("a token is printable ASCII characters, without spaces", field="token")
    return lambda _method, _url, _body, headers: {**headers, "Authorization": f"Bearer {token}"}


def is_loopback(host: str) -> bool:
    """Return whether *host* is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _path(batch_id: str, action: str = "") -> str:
    return f"/v1/batches/{checked_batch_id(batch_id)}{action}"


def _acks_body(acks: Sequence[Ack], **more: Any) -> Document:
    """Return the body of *acks* with *more* fields. Raises TooManyBytes."""
    body = {**documents.acks_body(acks), **more}
    if len(json.dumps(body)) > BODY_MAX:
        raise TooManyBytes(f"a body has at most {BODY_MAX} bytes; send fewer acks", field="acks")
    return body


def _one_key(acks: Sequence[Ack]) -> str:
    """Return the key of a request of several callers: a digest of their acks.

    A redelivery of the same messages with the same outcomes, in any order, has the same key.
    """
    entries = sorted(json.dumps([ack.caller, documents.acks_body([ack])]) for ack in acks)
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()
