"""The published description is the one that the routes give of themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from functions.openapi import document
from tests.api.gateway import JSON, Gateway
from tests.api.published import PAGE

STRANGER = "00000000-0000-4000-8000-00000000dead"
PUBLISHED = json.loads(PAGE.read_text())
"""The description; the first test holds it to the one of the routes."""


def test_the_published_description_is_up_to_date() -> None:
    assert document() == PUBLISHED, "run make openapi: python -m functions.openapi > docs/openapi.json"


def test_the_description_is_openapi() -> None:
    assert list(OpenAPIV31SpecValidator(PUBLISHED).iter_errors()) == []


def test_bodies_admit_nothing_unknown() -> None:
    schemas = PUBLISHED["components"]["schemas"]

    bodies = [schema for name, schema in schemas.items() if name.endswith("Body")]
    assert bodies
    assert all(
        schema.get("additionalProperties") is False or references(schema.get("oneOf")) for schema in bodies
    )


def references(forms: list[dict[str, Any]] | None) -> bool:
    """Whether *forms* are bodies of their own."""
    return bool(forms) and all(form.get("$ref", "").endswith("Body") for form in forms or ())


def takes_no_body(schema: dict[str, Any]) -> bool:
    """Whether no field is required, in the body or in each of the forms that it may have."""
    if references(schema.get("oneOf")):
        return False
    forms = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return not schema.get("required") and not (forms and all(form.get("required") for form in forms))


def routes_with_body() -> list[tuple[str, str, dict[str, Any], bool]]:
    """The method, the path and the body of each route, and whether the route takes no body."""
    schemas = PUBLISHED["components"]["schemas"]
    found = []
    for path, methods in PUBLISHED["paths"].items():
        for method, route in methods.items():
            body = route.get("requestBody", {"content": {}})
            names = [media["schema"]["$ref"].rpartition("/")[2] for media in body["content"].values()]
            if method in ("post", "put"):
                found.append((method, path, body, all(takes_no_body(schemas[name]) for name in names)))
    return found


def test_a_body_is_required_where_any_of_its_fields_is() -> None:
    assert {
        (method, path)
        for method, path, body, needless in routes_with_body()
        if needless == body.get("required", False)
    } == set()
    assert any(needless for *_, needless in routes_with_body())


@pytest.mark.parametrize("text", [None, "", "{}"])
def test_a_route_without_required_fields_takes_no_body(gateway: Gateway, text: str | None) -> None:
    """A route of work queues, which are not deployed here, fails after its body was accepted."""
    needless = [(method, path) for method, path, _, needless in routes_with_body() if needless]
    for method, path in needless:
        for headers in ({}, JSON) if not text else (JSON,):
            named = path.replace("{batchId}", STRANGER).replace("{queue}", "work")
            answer = gateway.send(method.upper(), named, text, headers)

            assert answer.status not in (400, 413, 415, 422), (method, path, answer.text)


def test_a_route_with_required_fields_refuses_a_missing_body(gateway: Gateway) -> None:
    needed = [(method, path) for method, path, _, needless in routes_with_body() if not needless]
    for method, path in needed:
        named = path.replace("{batchId}", STRANGER).replace("{queue}", "work")

        assert gateway.send(method.upper(), named).status == 400, (method, path)
