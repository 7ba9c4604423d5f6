"""Errors as callers see them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fanin import errors
from fanin.api.problems import KINDS
from fanin.api.requests.wording import PATTERN_TEXTS
from fanin.errors import (
    Conflict,
    FaninError,
    InvalidRequest,
    KeyReused,
    NewerSchema,
    NotFound,
    PartFull,
    StaleWrite,
    StoreUnavailable,
    TooManyBatches,
    TooManyPages,
)
from fanin.tracker.memory import MemoryStore
from functions.wiring import tracking
from tests.api.gateway import Gateway

UUID = "00000000-0000-4000-8000-00000000dead"


@dataclass
class Broken:
    """A tracker whose every use case fails alike."""

    error: Exception
    store: Any = None

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> None:
            raise self.error

        return fail


def _break(environment: pytest.MonkeyPatch, error: Exception) -> None:
    environment.setattr(tracking, "tracker", lambda: Broken(error))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidRequest("x"), 400),
        (TooManyPages("x"), 400),
        (TooManyBatches("x"), 400),
        (NotFound("x"), 404),
        (Conflict("x"), 409),
        (PartFull("x"), 409),
        (KeyReused("x"), 422),
        (NewerSchema("x"), 503),
        (StaleWrite("x"), 503),
        (StoreUnavailable("x"), 503),
        (FaninError("x"), 500),
        (KeyError("x"), 500),
    ],
    ids=repr,
)
def test_each_error_has_its_status(
    gateway: Gateway, environment: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    _break(environment, error)
    answer = gateway.send("POST", f"/v1/batches/{UUID}/close", {})

    assert answer.status == answer.body["status"] == status
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_every_error_of_the_tree_but_its_root_is_in_the_table() -> None:
    tree = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FaninError)]

    assert set(tree) - {FaninError, errors.AccessDenied} <= KINDS.keys()  # the client raises that one


def test_a_store_out_of_reach_asks_to_come_again(gateway: Gateway, environment: pytest.MonkeyPatch) -> None:
    _break(environment, StoreUnavailable("the store is busy; ask again"))
    answer = gateway.send("POST", "/v1/batches", {})

    assert answer.headers["Retry-After"] == "1"
    assert answer.body == {
        "type": "urn:fanin:problem:unavailable",
        "title": "Too busy; retry",
        "status": 503,
        "detail": "the store is busy; ask again",
    }


def test_a_service_that_is_older_than_a_row_says_so_to_the_caller_and_to_the_log(
    gateway: Gateway, environment: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    _break(environment, NewerSchema("the batch b has schema version 2: upgrade fanin in this process"))
    answer = gateway.send("POST", "/v1/batches", {})

    entry = json.loads(log.getvalue())
    assert answer.headers["Retry-After"] == "60"
    assert answer.body["type"] == "urn:fanin:problem:newer-schema"
    assert answer.body["detail"] == entry["message"] != ""
    assert (entry["level"], entry["problem"]) == ("ERROR", "newer-schema")


def test_a_defect_is_in_the_log_without_the_body_and_in_no_answer(
    gateway: Gateway, environment: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    _break(environment, KeyError("arn:aws:dynamodb:secret-table"))
    answer = gateway.send("POST", "/v1/batches", {"userKey": "hunter2"})

    (line,) = log.getvalue().splitlines()
    entry = json.loads(line)
    assert (answer.status, answer.body["type"]) == (500, "urn:fanin:problem:internal")
    assert "secret-table" not in answer.text
    assert "Traceback" not in answer.text
    assert (entry["level"], entry["request_id"]) == ("ERROR", "request-1")
    assert entry["route"] == "POST /v1/batches"
    assert "KeyError" in entry["exception"]
    assert "hunter2" not in line


def test_every_pattern_of_the_contract_has_an_error_text() -> None:
    contract = (Path(__file__).parents[2] / "docs" / "openapi.json").read_text()
    patterns = {json.loads(text) for text in re.findall(r'"pattern": (".*")', contract)}

    assert len(patterns) > 5
    assert patterns == PATTERN_TEXTS.keys()


def test_health_is_that_of_the_table(
    gateway: Gateway, memory: MemoryStore, environment: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> None:
        raise StoreUnavailable("throttled")

    assert gateway.send("GET", "/v1/health").status == 200
    environment.setattr(memory, "get", unavailable)
    assert gateway.send("GET", "/v1/health").status == 503
