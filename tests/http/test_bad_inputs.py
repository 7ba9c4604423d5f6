"""The table of bad inputs over HTTP, and requests that a fuzzer makes of the published description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fanin.tracker import OpenBatch
from tests.api.bad_inputs import ALL, Bad

OPENAPI = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())
PATIENCE_SECONDS = 120
ATTEMPTS = 4
IS_TEST = settings.get_current_profile_name() == "test"
EXAMPLES = 1 if IS_TEST else 300
"""Requests a route: more where properties get more examples, too."""
LEAKS = (b"Traceback", b"botocore", b"DynamoDB", b"Fanin-local", b".py")
# http.client refuses to send a header with a line break in it, so no such request leaves this machine.
SENDABLE = [bad for bad in ALL if not any("\n" in value or "\r" in value for value in bad.headers.values())]


def some() -> Iterator[Bad]:
    """Yield a request of each third row of the table; all in `make proof`, as tests/api has them."""
    rows = groupby(sorted(SENDABLE, key=lambda bad: bad.row), key=lambda bad: bad.row)
    for number, (_, row) in enumerate(rows):
        requests = list(row)
        yield from requests[-1:] * (number % 3 == 0) if IS_TEST else requests


@pytest.fixture(scope="module")
def names(api, run):
    """What the marks of a bad input stand for."""
    batch, items = api.opened(10)
    closed, _ = api.opened(1)
    api.close(closed)
    group = items[0].split(":")[1]
    return {"<BATCH>": batch, "<CLOSED>": closed, "<GROUP>": group, "<ITEM>": items[0]}


@pytest.fixture
def foreign(tracker):
    return tracker.open("another", OpenBatch()).batch_id


def filled(text, names):
    for mark, name in names.items():
        text = text.replace(mark, name)
    return text


def test_every_bad_input_is_refused_and_discloses_nothing_of_the_inside(api, names, foreign):
    """One test for the table: a request each; each thread starts processes of functions."""
    marks = names | {"<FOREIGN>": foreign}
    with ThreadPoolExecutor(2) as threads:
        answers = threads.map(lambda bad: sent(api, bad, marks), some())
    wrong = [answer for answer in answers if answer is not None]
    batch = json.loads(api.pool.request("GET", f"{api.url}/v1/batches/{names['<BATCH>']}").data)

    assert wrong == []
    assert (batch["total"], batch["progress"]["acked"], batch["state"]) == (10, 0, "OPEN")


def sent(api, bad: Bad, marks):
    """None where *bad* is refused as it must be; else what came back."""
    body = None if bad.body is None else filled(bad.body.decode("latin-1"), marks).encode("latin-1")
    query = {name: value if isinstance(value, list) else [value] for name, value in (bad.query or {}).items()}
    filled_query = {name: [filled(v, marks) for v in values] for name, values in query.items()}
    asked = urlencode(filled_query, doseq=True)
    path = filled(bad.path, marks).replace("#", "%23")  # a client would keep what follows a # to itself
    url = api.url + path + (f"?{asked}" if asked else "")
    answer = api.pool.urlopen(bad.method, url, body=body, headers=bad.headers)
    leaked = [leak for leak in LEAKS if leak in answer.data]
    return (
        None if answer.status in bad.expect and not leaked else (str(bad), answer.status, answer.data[:200])
    )


AS_PUBLISHED = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def patiently(call):
    """Return the answer to *call*, which is sent again while a busy machine is too slow for its functions."""
    for _ in range(ATTEMPTS):
        answer = call()
        if answer.status_code not in (503, 504):
            break
    return answer


schema = schemathesis.openapi.from_dict(OPENAPI)
# Two thousand requests, made as the module is imported: a value of each kind for each field.
schema.config.phases.coverage.enabled = not IS_TEST


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_an_answer_to_a_fuzzer_is_as_published_no_server_error_and_shows_nothing_of_the_inside(api, case):
    answer = patiently(lambda: case.call(base_url=api.url, timeout=PATIENCE_SECONDS))

    case.validate_response(answer, checks=[not_a_server_error, *AS_PUBLISHED])
    assert not any(leak in answer.content for leak in LEAKS)
