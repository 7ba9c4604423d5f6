"""What generated clients need of the description: names, credentials, examples, and types without doubt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator

from functions.openapi.completing import operations
from functions.openapi.examples import EXAMPLES
from functions.openapi.shaping import FORMS
from tests.api.published import PAGE, closed, resolved

DOCUMENT = json.loads(PAGE.read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
PROBLEM, JSON = "application/problem+json", "application/json"


def media() -> Iterator[tuple[str, dict[str, Any]]]:
    """The media of each body and of each good answer."""
    for _, operation in operations(DOCUMENT):
        good = [answer for status, answer in operation["responses"].items() if status < "300"]
        for part in (operation.get("requestBody", {}), *good):
            for each in part.get("content", {}).values():
                yield operation["operationId"], each


def violations(schema: dict[str, Any], value: object) -> list[str]:
    whole = closed(DOCUMENT)
    return [error.message for error in OAS31Validator({**schema, **whole}).iter_errors(value)]


def test_each_operation_says_what_happens_without_credentials_and_beyond_the_rate() -> None:
    gateways = {"401", "403", "429", "500", "503"}

    assert {name for way in DOCUMENT["security"] for name in way} == {"sigv4", "jwt"}
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"sigv4", "jwt"}
    for _, operation in operations(DOCUMENT):
        answered = {status: resolved(DOCUMENT, it) for status, it in operation["responses"].items()}
        of_authorizers = {"401", "403"} if operation.get("security") == [] else set()
        assert gateways - of_authorizers <= answered.keys() - of_authorizers
        for status, answer in answered.items():
            assert status < "400" or PROBLEM in answer["content"] or status in gateways
            assert status not in gateways or JSON in answer["content"]


def test_each_body_and_answer_has_an_example_of_its_schema() -> None:
    named = {each["schema"]["$ref"].rpartition("/")[2] for _, each in media()}

    assert set(EXAMPLES) <= named
    for operation, each in media():
        assert "example" in each, f"{operation} needs a line in functions/openapi/examples.py"
        assert violations(each["schema"], each["example"]) == [], operation


def test_no_parameter_and_no_absent_field_of_an_answer_is_null() -> None:
    null = {"type": "null"}
    nulls = [
        (operation["operationId"], parameter["name"])
        for _, operation in operations(DOCUMENT)
        for parameter in operation.get("parameters", ())
        if null in parameter["schema"].get("anyOf", ())
    ]
    nulls += [
        (name, field)
        for name, schema in SCHEMAS.items()
        if not name.endswith("Body")
        for field, described in schema.get("properties", {}).items()
        if null in described.get("anyOf", ()) and field not in schema.get("required", ())
    ]

    assert nulls == []


@pytest.mark.parametrize("name", FORMS)
def test_a_body_of_several_forms_has_exactly_one_of_them(name: str) -> None:
    schema = SCHEMAS[name]
    forms = [form["$ref"].rpartition("/")[2] for form in schema["oneOf"]]

    assert forms == list(FORMS[name])
    for form in forms:
        smallest = {field: sample(SCHEMAS[form]["properties"][field]) for field in SCHEMAS[form]["required"]}
        assert violations(schema, smallest) == []
        assert violations(schema, smallest | {"unknown": 1}) != []
    assert violations(schema, {}) != []


def sample(schema: dict[str, Any]) -> Any:
    """The smallest value of *schema*."""
    schema = resolved(DOCUMENT, schema)
    uuid = "0b8f6f0e-3b1c-4c1b-9a53-8f8f6a1f2c11"
    if "oneOf" in schema:
        return sample(schema["oneOf"][0])
    if schema.get("type") == "object":
        return {name: sample(schema["properties"][name]) for name in schema["required"]}
    if schema.get("type") == "array":
        return [sample(schema["items"])]
    if "const" in schema or schema.get("type") == "integer":
        return schema.get("const", 0)
    pattern = schema.get("pattern", "")
    return f"{uuid}:{uuid}:0" if ":(" in pattern else uuid
