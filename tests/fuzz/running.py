"""Sends fuzzed requests to all handlers, and judges the answers."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.api.gateway import NO_ROUTE, SERVED, answered, reached
from tests.fuzz import granting
from tests.fuzz.deployment import refusals
from tests.fuzz.foreign import FOREIGN, Foreign
from tests.fuzz.mutating import Request, mutated
from tests.fuzz.tenants import Tenant, filled

INSIDE = (
    *("Traceback", "botocore", "DynamoDB", "GroupTasks", "GroupLeases", "GroupBundles", "Exception"),
    '.py"',
)
"""Texts of the inside of the service, which no answer has."""
ANSWER_MAX = 8_000
"""Characters of a refusal."""
REFILLED_AFTER = 2_000
"""Requests after which the caller is a new tenant: the requests delete what the tenant has."""
EVENTS = "GET /v1/progress"
"""The route whose token authorizes any holder, so that none is foreign; it is asked for events."""
TOKENS = [Foreign("token", "/v1/progress", query={"token": f"<{mark}>"}) for mark in ("TOKEN", "ENDED_TOKEN")]
VALID = [(route, request) for route, requests in (FOREIGN | {EVENTS: TOKENS}).items() for request in requests]


@dataclass
class Judge:
    """Counts the answers by route and status, and keeps what is wrong with any."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def judge(self, name: str, route: str, request: Request, answer: dict[str, Any]) -> None:
        status, text = answer["statusCode"], answer["body"]
        self.answers[route, status] += 1
        problems = [f"has {each!r}" for each in INSIDE if each in text]
        if status >= 500:
            problems.append(f"is {status}")
        if status >= 400 and not _is_of_gateway(answer):
            problems += _of_refusal(answer)
        if problems:
            self.wrong.append(
                f"{name}: {request.method} {request.path[:80]!r} {'; '.join(problems)}: {text[:300]}"
            )


def _is_of_gateway(answer: dict[str, Any]) -> bool:
    return answer["body"] == NO_ROUTE


def _of_refusal(answer: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a refusal."""
    document = json.loads(answer["body"])
    headers = {**answer["headers"], **{k: v[0] for k, v in answer.get("multiValueHeaders", {}).items()}}
    if headers.get("Content-Type") != "application/problem+json":
        yield f"is of the type {headers.get('Content-Type')}"
    if document.get("status") != answer["statusCode"] or not {"type", "title", "detail"} <= document.keys():
        yield "is no problem document"
    if len(answer["body"]) > ANSWER_MAX:
        yield f"has {len(answer['body'])} characters"


def request_of(seed: int, number: int, marks: dict[str, str]) -> tuple[str, Request]:
    """Return request *number* of a seed, and its route; every tenth is valid."""
    chance = Random(f"{seed}:{number}")
    route, valid = chance.choice(VALID)
    path, body, query, key = filled([valid.path, valid.body, valid.query, valid.key], marks)
    headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
    headers |= {"accept": "text/event-stream", "last-event-id": "ended"} if route == EVENTS else {}
    request = Request(route.partition(" ")[0], path, body, query, headers)
    return route, request if number % 10 == 0 else mutated(request, chance)


def run(requests: int, seed: int, first: int = 0, tenant: Tenant | None = None) -> Judge:
    """Send *requests* requests of a seed from *first* on, within a deployment; *tenant* sends the first."""
    judge = Judge()
    with redirect_stdout(io.StringIO()):
        for number in range(first, first + requests):
            if tenant is None or number % REFILLED_AFTER == REFILLED_AFTER - 1:
                tenant = Tenant(f"{number:012d}").fill()
            _send(judge, f"--seed {seed} --first {number}", tenant, seed, number)
    return judge


def _send(judge: Judge, name: str, tenant: Tenant, seed: int, number: int) -> None:
    marks = tenant.marks | {"MINE": tenant.marks["BATCH"], "FRESH": f"fresh-{number}"}
    route, request = request_of(seed, number, marks)
    event = tenant.gateway.event(request.method, request.path, dict(request.headers), _sent(request.query))
    granting.SENT.clear()
    try:
        answer = answered(request.method, request.path, event | request.event())
        judge.judge(name, route, request, answer)
        judge.wrong += [f"{name}: {route} sends without a grant: {each}" for each in _ungranted(request)]
        judge.wrong += [f"{name}: {route} sends what AWS refuses: {each}"[:600] for each in refusals()]
    except Exception as error:  # a handler raises nothing, and answers what is published
        judge.wrong.append(
            f"{name}: {request.method} {request.path[:80]!r}: {type(error).__name__}: {error}"[:600]
        )


def _ungranted(request: Request) -> list[tuple[str, str]]:
    """Return what the handler that answered sent without a grant."""
    found = reached(request.method, request.path)
    return granting.ungranted(SERVED[found[0]][1]) if found else []


def _sent(query: dict[str, Any]) -> dict[str, Any]:
    """Return the query as it can be sent: a URL has no lone surrogates."""
    return {
        name: [whole(each) for each in value] if isinstance(value, list) else whole(str(value))
        for name, value in query.items()
    }


def whole(text: str) -> str:
    """Return *text* without lone surrogates."""
    return text.encode("utf-8", "replace").decode()
