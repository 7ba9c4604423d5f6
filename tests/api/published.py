"""Answers of the API, held to docs/openapi.json: status, headers, media type, and the schema of the body."""

from __future__ import annotations

import copy
import functools
import json
import operator
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openapi_schema_validator import OAS31Validator, oas31_format_checker

PAGE = Path(__file__).parents[2] / "docs" / "openapi.json"
SHOWN = 300


class Unpublished(AssertionError):
    """An answer that the published description does not have."""


def checked(
    method: str,
    path: str,
    status: int,
    headers: Mapping[str, str],
    body: str | bytes,
    document: Mapping[str, Any] | None = None,
) -> None:
    """Raise Unpublished unless *document*, docs/openapi.json by default, has this answer of its route.

    What is on no route is the gateway's to answer, and passes. An object has no fields but the described.
    """
    described = published() if document is None else closed(document)
    operation = operation_of(described, method, path)
    if operation is None:
        return
    where = f"{method} {path}: {status}"
    answer = resolved(described, operation["responses"].get(str(status)))
    if answer is None:
        raise Unpublished(f"{where} is not in the description; the body is {body[:SHOWN]!r}")
    given = {name.lower(): value for name, value in headers.items()}
    for name, header in answer.get("headers", {}).items():
        if is_always_sent(header) and name.lower() not in given:
            raise Unpublished(f"{where} has no header {name}")
    media = given.get("content-type", "").partition(";")[0]
    if not answer["content"] and not body:
        return
    if media not in answer["content"]:
        raise Unpublished(f"{where} is of media type {media!r}, not {list(answer['content'])}")
    text = body if isinstance(body, str) else body.decode()
    value = json.loads(text) if media.endswith("json") else text
    _check_body(described, where, answer["content"][media]["schema"], value)


def _check_body(document: Mapping[str, Any], where: str, schema: Mapping[str, Any], body: Any) -> None:
    root = {**schema, "components": document["components"]}  # what the schema's references begin at
    validator = OAS31Validator(root, format_checker=oas31_format_checker)
    for error in validator.iter_errors(body):
        at = ".".join(str(step) for step in error.absolute_path) or "the body"
        raise Unpublished(f"{where}: {at}: {error.message[:SHOWN]}")


def resolved(document: Mapping[str, Any], part: Any) -> Any:
    """*part*, or what it refers to in *document*."""
    while isinstance(part, Mapping) and "$ref" in part:
        part = functools.reduce(operator.getitem, part["$ref"].removeprefix("#/").split("/"), document)
    return part


def is_always_sent(header: Mapping[str, Any]) -> bool:
    """Whether the description does not leave a header out in some answers, by ``required: false``."""
    return bool(header.get("required", True))


def operation_of(document: Mapping[str, Any], method: str, path: str) -> Mapping[str, Any] | None:
    """The operation that serves *path*; None where there is none."""
    for template, methods in document["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            operation: Mapping[str, Any] | None = methods.get(method.lower())
            if operation is not None:
                return operation
    return None


@functools.cache
def published() -> Mapping[str, Any]:
    return closed(json.loads(PAGE.read_text()))


def closed(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """*document*, whose objects have no other fields than those that it describes."""
    strict = copy.deepcopy(dict(document))
    for schema in strict["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return strict
