"""The functions of the API: each serves the routes that the template gives it, and its metrics name them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fanin_cdk.grants.handlers import PUBLIC_ROUTES
from functions.api.routing import by_route
from functions.invocation_metrics.measuring import metrics
from functions.wiring import metered
from tests.api.gateway import SERVED, Gateway

ROOT = Path(__file__).parents[2]
FILES = {f"api.{path.stem}" for path in (ROOT / "functions" / "api").glob("[a-z]*.py")}
FUNCTIONS = FILES - {"api.reading", "api.routing"}


def test_there_is_a_file_for_each_function_and_no_other() -> None:
    assert {function for function, _ in SERVED.values()} == FUNCTIONS


@pytest.mark.parametrize("route", SERVED)
def test_a_function_answers_each_of_its_routes(route: str, environment: pytest.MonkeyPatch) -> None:
    environment.delenv("FANIN_ALLOW_ANONYMOUS")
    method, template = route.split(" ")
    path = re.sub(r"{\w+}", "x", template)
    event = Gateway().event(method, path, None, None) | {"routeKey": route}

    answer = import_module(f"functions.{SERVED[route][0]}").handler(event, None)

    # The caller is unknown, or the token; a handler of another route would answer 404.
    assert answer["statusCode"] == (400 if route in PUBLIC_ROUTES else 403)


def test_the_metrics_of_a_request_have_its_route_and_no_writes_of_another(capsys) -> None:
    def unmeasured(_event: Any, _context: Any) -> dict[str, Any]:
        metered.meter._add({"write_units": 7})  # type: ignore[arg-type]
        return {}

    def measured(_event: Any, _context: Any) -> dict[str, Any]:
        metrics.add("Items", 1 + metered.meter.take("write_units"))
        metrics.flush()
        return {}

    handler = by_route({"PUT /a": unmeasured, "POST /b": measured})
    for route in ("PUT /a", "POST /b"):
        handler({"routeKey": route}, None)

    (line,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (line["route"], line["Items"]) == ("POST /b", [1.0])
