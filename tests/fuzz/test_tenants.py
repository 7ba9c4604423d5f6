"""Names of another tenant: the answer is that for names of nothing, and nothing of the tenant is changed."""

from __future__ import annotations

import json
import re

from tests.api.gateway import SERVED, Answer
from tests.fuzz.conftest import Both
from tests.fuzz.deployment import rows
from tests.fuzz.foreign import FOREIGN, KINDS, Foreign
from tests.fuzz.tenants import Tenant, filled, unknown

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VARIES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d+\.\d+|tenant-_[0-9a-f]{32}")
"""A time, a duration, or the end of a doorbell's name, which is a hash."""
TAKEN = {"batch", "ended batch", "item", "group", "task", "bundle", "queue", "job", "dead job", "cursor"}
OWN = {"MINE", "FRESH"}
"""Marks of names that the caller has itself."""
NAMED = {"idempotency key", "target", "user key", "label"}


def sent(tenant: Tenant, method: str, request: Foreign, marks: dict[str, str]) -> Answer:
    path, body, query, key = filled([request.path, request.body, request.query, request.key], marks)
    headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
    return tenant.gateway.send(method, path, body, headers, query or None)


def leaks(answer: Answer, request: Foreign, marks: dict[str, str]) -> list[str]:
    """The names of the owner in an answer to a request that does not have them."""
    asked = json.dumps(filled([request.path, request.body, request.query, request.key], marks))
    return [
        name for mark, name in marks.items() if mark not in OWN and name not in asked and name in answer.text
    ]


def neutral(answer: Answer, marks: dict[str, str]) -> tuple[int, str]:
    """An answer without names and times, to be compared with another one."""
    text = answer.text
    for name in sorted(marks.values(), key=len, reverse=True):
        text = text.replace(name, "<NAME>")
    return answer.status, VARIES.sub("<VARIES>", ID.sub("<NAME>", text))


def of_tenant(tenant: Tenant) -> set[str]:
    """The rows that have a name of the tenant."""
    return {row for row in rows() if tenant.account in row}


def test_every_route_has_requests_with_names_of_another_tenant() -> None:
    assert FOREIGN.keys() == SERVED.keys()
    assert KINDS == TAKEN | NAMED


def test_no_tenant_reads_or_changes_what_another_tenant_has(both: Both) -> None:
    """One test for all requests: reads, then writes. The cursors of nothing are the caller's own."""
    mine = {"MINE": both.other.marks["BATCH"]}
    theirs = both.owner.marks | mine | {"FRESH": "fresh-1"}
    nothing = both.other.marks | unknown(both.owner) | mine | {"FRESH": "fresh-2"}
    before, wrong = of_tenant(both.owner), []
    for route in sorted(FOREIGN, key=lambda route: not route.startswith("GET")):
        for request in FOREIGN[route]:
            method = route.partition(" ")[0]
            answer = sent(both.other, method, request, theirs)
            expected = answer if request.kind == "cursor" else sent(both.other, method, request, nothing)
            same = neutral(answer, theirs) == neutral(expected, nothing if expected is not answer else theirs)
            lost = before - of_tenant(both.owner)
            if not same or leaks(answer, request, theirs) or lost or answer.status >= 500:
                wrong.append((route, request, answer.text, expected.text, lost))

    assert wrong == []
