"""What no single route knows of the document: tags, servers, credentials, the gateway's answers, examples."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from fanin.api.problems import KINDS, MEDIA_TYPE, Kind
from fanin.names import camel
from functions.openapi.examples import EXAMPLES
from functions.openapi.shaping import never_null

Document = dict[str, Any]

TAGS = {
    "batches": "Batches of items: open, add, ack, close, and what is left of them.",
    "tasks": "The group-batcher: tasks that are processed in bundles of one target.",
    "queues": "Work queues: jobs with distinct keys, priorities and sessions.",
}
GROUPER = ("/v1/tasks", "/v1/bundles", "/v1/targets")
SERVERS = [
    {
        "url": "https://{apiId}.execute-api.{region}.amazonaws.com",
        "description": "A deployed stack; the URL is its output `ApiUrl`.",
        "variables": {"apiId": {"default": "a1b2c3d4e5"}, "region": {"default": "eu-west-1"}},
    },
    {"url": "http://127.0.0.1:8787", "description": "`fanin local up`, which checks no credentials."},
]
CREDENTIALS = {
    "sigv4": {
        "type": "apiKey",
        "name": "Authorization",
        "in": "header",
        "description": "AWS Signature Version 4 for the service `execute-api`.",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
    "jwt": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token of the issuer that the stack is configured with, in place of a signature.",
    },
}
GATEWAY = "GatewayMessage"
OF_GATEWAY = {
    "type": "object",
    "title": GATEWAY,
    "description": "An answer of API Gateway itself, before the request reaches a function.",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}
QUOTA = "429 of a quota"
BATCH = "409 of a batch"
REFUSALS = {
    "400": ("BadRequest", "The request is malformed."),
    "401": ("Unauthorized", "The token is missing, has expired, or is not of the issuer."),
    "403": ("Forbidden", "The caller has no permission, or is not known."),
    "404": ("NotFound", "The tenant has no such resource, or it has expired."),
    "409": ("Conflict", "The state of the resource does not allow the request."),
    BATCH: (
        "BatchConflict",
        "The state of the batch does not allow it; `batch` says how it has ended.",
    ),
    "413": ("TooLarge", "The body is too large."),
    "415": ("NotJson", "The body is not JSON."),
    "422": ("KeyReused", "The idempotency key was used for another payload."),
    "429": ("TooManyRequests", "The rate limit of the stage; retry after a pause."),
    QUOTA: ("QuotaExceeded", "The rate limit of the stage, or a quota of the tenant; `quota` says which."),
    "500": ("Internal", "The service failed; the outcome is unknown."),
    "503": ("Unavailable", "Too busy; the outcome is unknown. Retry with the same idempotency key."),
}
"""The name and the description of each refusal."""
BY_GATEWAY = {
    "401": "Unauthorized",
    "403": "Forbidden",
    "429": "Too Many Requests",
    "500": "Internal Server Error",
    "503": "Service Unavailable",
}
"""The message of each answer of API Gateway."""
OF_AUTHORIZERS = {"401", "403"}
PUBLIC = {"/v1/progress"}
"""Paths without an authorizer."""
SPECIFIC = {
    "too-many-pages": {"ackItems"},
    "too-many-batches": {"ackItems"},
    "no-target": {"registerTask"},
    "part-full": {"addJobs"},
    "batch-ended": {"openBatch", "addItems", "closeBatch", "cancelBatch", "endBatch", "reopenBatch"},
}
"""Problems of some operations only; the others are possible wherever their status is."""
NOWHERE = {"no-route"}


def completed(document: Document, routes: Iterable[ModuleType]) -> Document:
    """Return *document* with all that a generated client and its reader need."""
    about = {name: text for module in routes for name, text in _texts(module)}
    for path, operation in operations(document):
        operation["tags"] = [tag_of(path)]
        operation["description"] = about[operation["operationId"]]
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = never_null(parameter["schema"])
        _add_gateway(operation["responses"], path in PUBLIC)
        if path in PUBLIC:
            operation["security"] = []
        _add_examples(operation)
    shared = {"examples": dict(_problems()), "responses": _share(document)}
    document["components"] |= shared | {"securitySchemes": CREDENTIALS}
    document["components"]["schemas"][GATEWAY] = OF_GATEWAY
    document["info"]["license"] = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    return document | {"servers": SERVERS, "tags": tags, "security": [{name: []} for name in CREDENTIALS]}


def _share(document: Document) -> dict[str, Any]:
    """Describe each refusal; return those that several operations share, by name, and refer to them."""
    shared: dict[str, Any] = {}
    for _, operation in operations(document):
        responses = operation["responses"]
        for status in responses.keys() & REFUSALS.keys():
            name, responses[status]["description"] = REFUSALS[_kind_of(status, responses[status])]
            if shared.setdefault(name, responses[status]) == responses[status]:
                responses[status] = {"$ref": f"#/components/responses/{name}"}
    return shared


def _kind_of(status: str, response: Mapping[str, Any]) -> str:
    """Return the key of a refusal in ``REFUSALS``: an operation may have more to say than its status."""
    ours = response["content"].get(MEDIA_TYPE)
    if status == "429" and ours is not None:
        return QUOTA
    return BATCH if status == "409" and "batch-ended" in ours["examples"] else status


def operations(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each path with each of its operations."""
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield path, operation


def tag_of(path: str) -> str:
    """Return the name of the part of the service that serves *path*."""
    if path.startswith("/v1/queues"):
        return "queues"
    return "tasks" if path.startswith(GROUPER) else "batches"


def _texts(module: ModuleType) -> Iterator[tuple[str, str | None]]:
    """Yield the operation id and the docstring of each function of a handler's module."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__:
            yield camel(name), inspect.getdoc(function)


def _add_gateway(responses: dict[str, Any], is_public: bool) -> None:
    for status, message in BY_GATEWAY.items():
        if is_public and status in OF_AUTHORIZERS:
            continue
        answer = responses.setdefault(status, {"content": {}})
        answer["content"]["application/json"] = {
            "schema": {"$ref": f"#/components/schemas/{GATEWAY}"},
            "example": {"message": message},
        }


def _add_examples(operation: dict[str, Any]) -> None:
    """Add the example of the body and of each answer, and the problems that the operation can answer."""
    good = [answer for status, answer in operation["responses"].items() if status < "300"]
    for part in (operation.get("requestBody"), *good):
        for media in part["content"].values() if part else ():
            name = media["schema"]["$ref"].rpartition("/")[2]
            if name in EXAMPLES:
                media["example"] = EXAMPLES[name]
    for status, answer in operation["responses"].items():
        named = [kind.name for kind in _kinds(int(status), operation["operationId"])]
        if MEDIA_TYPE in answer["content"]:
            references = {name: {"$ref": f"#/components/examples/{name}"} for name in named}
            answer["content"][MEDIA_TYPE]["examples"] = references


def _kinds(status: int, operation: str) -> list[Kind]:
    found = dict.fromkeys(kind for kind in KINDS.values() if kind.status == status)
    return [
        kind
        for kind in found
        if kind.name not in NOWHERE and operation in SPECIFIC.get(kind.name, {operation})
    ]


def _problems() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in KINDS.values():
        document = {
            "type": f"urn:fanin:problem:{kind.name}",
            "title": kind.title,
            "status": kind.status,
            "detail": "What is wrong with this request.",
        }
        if kind.name not in NOWHERE:
            yield kind.name, {"summary": kind.title, "value": document}
