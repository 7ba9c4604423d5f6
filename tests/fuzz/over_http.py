"""Sends fuzzed requests over HTTP to the local run: gateway, functions and their time limits answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import urllib3

from fanin.local.emulation.connection import ACCOUNT
from tests.api.gateway import JSON, NO_ROUTE, Answer
from tests.api.published import checked
from tests.fuzz.mutating import Request
from tests.fuzz.running import Judge, request_of, whole
from tests.fuzz.tenants import Tenant

ATTEMPTS = 4
BUSY = (503, 504)
"""Answers of a machine that is too slow for the moment; they are wrong if they stay."""
NO_METHOD = "REPORT"
"""Sent in place of an empty method, which makes no request of HTTP; no route has it."""
LISTS = (
    *("BATCHES", "OUTSTANDING", "FAILURES", "ORIGIN", "TASKS"),
    *("BUNDLES", "TARGETS", "QUEUES", "JOBS", "SESSIONS"),
)


@dataclass
class Wire:
    """Sends requests to the API at *url*, also such as no client sends."""

    url: str
    pool: urllib3.HTTPConnectionPool = field(init=False)

    def __post_init__(self) -> None:
        # A pool sends a path as it stands, with its dots.
        self.pool = urllib3.connection_from_url(self.url, retries=False, timeout=120)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Answer:
        """Return the answer, as `tests.api.gateway.Gateway.send` does."""
        given = JSON if headers is None else headers
        return self.exchanged(Request(method, path, body, query or {}, given))

    def exchanged(self, request: Request) -> Answer:
        """Return the answer to *request*, which is sent again while the machine is too slow."""
        method, headers = request.method or NO_METHOD, headers_of(request)
        for _ in range(ATTEMPTS):
            answer = self.pool.urlopen(method, target(request), body=request.content(), headers=headers)
            if answer.status not in BUSY:
                break
        # The gateway knows no route for HEAD, whose answers have no body.
        text = answer.data.decode() or (NO_ROUTE if (method, answer.status) == ("HEAD", 404) else "")
        return Answer(answer.status, {name.title(): value for name, value in answer.headers.items()}, text)


class OnTheRun(Tenant):
    """The tenant of the local run, with what HTTP alone makes: its bundle and its dead job do not exist."""

    def _tasks(self) -> None:
        target = f"target-{self.account}"
        for name in (target, f"{target}-b"):
            self.send("POST", "/v1/tasks", {"target": name, "taskId": f"{name}-0", "payload": self.account})
        self.marks |= {"TARGET": target, "TASK": f"{target}-0", "BUNDLE": str(UUID(int=1))}

    def _jobs(self) -> None:
        name = f"queue-{self.account}"
        for queue in (name, f"{name}-b"):
            jobs = [{"key": f"job-{self.account}-{number}", "payload": "{}"} for number in range(6)]
            self.send("POST", f"/v1/queues/{queue}/jobs", {"jobs": jobs})
        self.marks |= {"QUEUE": name, "JOB": f"job-{self.account}-5", "DEAD": "AAAA"}

    def _cursors(self) -> None:
        """Take a cursor of one list for all of them."""
        cursor = self.send("GET", "/v1/batches", limit="1")["cursor"]
        self.marks |= {f"{name}_AT": cursor for name in LISTS}


def run(url: str, requests: int, seed: int, first: int = 0) -> Judge:
    """Send *requests* requests of a seed from *first* on to the API at *url*."""
    judge, wire, tenant = Judge(), Wire(url), OnTheRun(ACCOUNT)
    tenant.gateway = wire  # type: ignore[assignment]  # it sends, which is all that a tenant asks of it
    marks = tenant.fill().marks
    for number in range(first, first + requests):
        fresh = {"MINE": marks["BATCH"], "FRESH": f"fresh-{number}"}
        route, request = request_of(seed, number, marks | fresh)
        _send(judge, f"--http --seed {seed} --first {number}", wire, route, request)
    return judge


def _send(judge: Judge, name: str, wire: Wire, route: str, request: Request) -> None:
    try:
        answer = wire.exchanged(request)
        checked(request.method, request.path, answer.status, answer.headers, answer.text)
        event = {"statusCode": answer.status, "headers": answer.headers, "body": answer.text}
        judge.judge(name, route, request, event)
    except Exception as error:  # no answer, or one that is not as published
        judge.wrong.append(f"{name}: {request.method} {request.path[:80]!r}: {error!r}"[:600])


def target(request: Request) -> str:
    """Return the path and query as they are sent: in ASCII, without what would end a path."""
    path = quote(whole(request.path), safe="/:@!$&'()*+,;=-._~%")
    pairs = [
        (whole(name), whole(str(each)))
        for name, value in request.query.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def headers_of(request: Request) -> dict[str, str]:
    """Return the headers that HTTP can send; the host is that of the run."""
    return {
        name: value
        for name, value in request.headers.items()
        if value.isprintable() and value.isascii() and name != "host"
    }
