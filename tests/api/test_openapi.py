"""The published description is the one that the routes give of themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from fanin import grouper, tracker
from functions import get_bundle, openapi
from functions.openapi import NameTaken, document

PUBLISHED = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_published_description_is_up_to_date() -> None:
    assert json.loads(PUBLISHED.read_text()) == document(), (
        "run make openapi: python -m functions.openapi > docs/openapi.json"
    )


def test_the_description_is_openapi() -> None:
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


def test_the_description_names_the_routes() -> None:
    routes = {(method, path) for path, methods in document()["paths"].items() for method in methods}

    assert routes == {
        ("post", "/v1/batches"),
        ("get", "/v1/batches/{batchId}"),
        ("post", "/v1/batches/{batchId}/items"),
        ("post", "/v1/batches/{batchId}/close"),
        ("post", "/v1/acks"),
        ("get", "/v1/batches"),
        ("post", "/v1/batches/{batchId}/cancel"),
        ("post", "/v1/batches/{batchId}/notify"),
        ("get", "/v1/batches/{batchId}/outstanding"),
        ("get", "/v1/batches/{batchId}/failures"),
        ("post", "/v1/tasks"),
        ("get", "/v1/tasks"),
        ("get", "/v1/tasks/{taskId}"),
        ("get", "/v1/targets"),
        ("get", "/v1/bundles"),
        ("get", "/v1/bundles/{bundleId}"),
        ("put", "/v1/queues/{queue}"),
        ("post", "/v1/queues/{queue}/jobs"),
        ("get", "/v1/queues/{queue}/jobs"),
        ("put", "/v1/queues/{queue}"),
        ("delete", "/v1/queues/{queue}"),
        ("get", "/v1/queues"),
        ("get", "/v1/queues/{queue}"),
        ("get", "/v1/queues/{queue}/sessions"),
        ("post", "/v1/queues/{queue}/pause"),
        ("post", "/v1/queues/{queue}/resume"),
        ("post", "/v1/queues/{queue}/dead/revive"),
        ("post", "/v1/queues/{queue}/jobs/delete"),
    }


def test_bodies_admit_nothing_unknown() -> None:
    schemas = document()["components"]["schemas"]

    bodies = [schema for name, schema in schemas.items() if name.endswith("Body")]
    assert bodies
    assert all(schema["additionalProperties"] is False for schema in bodies)


def test_two_schemas_of_one_name_end_the_build_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = get_bundle.app.get_openapi_json_schema(**openapi.ABOUT).replace("MemberVerdict", "Verdict")
    monkeypatch.setattr(get_bundle.app, "get_openapi_json_schema", lambda **_: schemas)

    with pytest.raises(NameTaken, match=r"/v1/bundles/\{bundleId\}: the schema Verdict differs"):
        document()


def test_an_ack_and_a_member_each_have_verdicts_of_their_own() -> None:
    schemas = document()["components"]["schemas"]

    assert schemas["ItemResult"]["properties"]["verdict"] == {"$ref": "#/components/schemas/Verdict"}
    assert schemas["Verdict"]["enum"] == [str(each) for each in tracker.Verdict]
    assert schemas["MemberVerdict"]["enum"] == [str(each) for each in grouper.Verdict]


def test_a_body_is_required_where_any_of_its_fields_is() -> None:
    published = document()
    bodies = {
        f"{method} {path}": route["requestBody"]
        for path, methods in published["paths"].items()
        for method, route in methods.items()
        if "requestBody" in route
    }
    needless = {"/v1/batches", *(f"/v1/batches/{{batchId}}/{verb}" for verb in ("close", "cancel", "notify"))}

    assert {path for path, body in bodies.items() if not body.get("required", False)} == {
        f"post {path}" for path in needless
    }
