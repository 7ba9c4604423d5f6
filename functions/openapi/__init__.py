"""Generates the OpenAPI document from the routes: ``python -m functions.openapi > docs/openapi.json``."""

import json
from typing import Any

from functions import (
    ack_items,
    add_items,
    add_jobs,
    cancel_batch,
    close_batch,
    create_progress_token,
    delete_batch,
    delete_batches,
    delete_jobs,
    end_batch,
    get_batch,
    get_bundle,
    get_children,
    get_failures,
    get_health,
    get_origin,
    get_outstanding,
    get_progress,
    get_publication,
    get_queue,
    get_results,
    get_task,
    list_batches,
    list_bundles,
    list_jobs,
    list_queues,
    list_sessions,
    list_targets,
    list_tasks,
    notify_batch,
    open_batch,
    pause_queue,
    put_queue,
    register_task,
    remove_queue,
    reopen_batch,
    resume_queue,
    revive_jobs,
    start_publication,
)
from functions.openapi.completing import completed
from functions.openapi.shaping import shaped

ROUTES = (
    open_batch,
    list_batches,
    get_batch,
    create_progress_token,
    get_progress,
    add_items,
    close_batch,
    cancel_batch,
    ack_items,
    get_outstanding,
    get_children,
    get_failures,
    get_health,
    get_results,
    notify_batch,
    reopen_batch,
    get_origin,
    end_batch,
    delete_batch,
    delete_batches,
    register_task,
    list_tasks,
    get_task,
    list_bundles,
    get_bundle,
    list_targets,
    list_queues,
    get_queue,
    put_queue,
    remove_queue,
    pause_queue,
    resume_queue,
    list_sessions,
    add_jobs,
    list_jobs,
    delete_jobs,
    revive_jobs,
    start_publication,
    get_publication,
)
ABOUT = {
    "title": "fanin",
    "version": "v1",
    "description": "Reports exactly once when all items of a batch are acked. Errors are RFC 9457 documents.",
}


class NameTaken(ValueError):
    """Two routes have different schemas of the same name."""


def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of all routes. Raises NameTaken."""
    whole: dict[str, Any] = {"paths": {}, "components": {"schemas": {}}}
    for module in ROUTES:
        part = json.loads(module.app.get_openapi_json_schema(**ABOUT), parse_float=_whole)
        whole = part | {"paths": _paths(whole, part), "components": _joined(whole, part)}
    whole["components"]["schemas"] = shaped(whole["components"]["schemas"])
    return completed(whole, ROUTES)


def _paths(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return the paths of both; the methods of a path in both are merged."""
    paths = dict(whole["paths"])
    for path, methods in part["paths"].items():
        paths[path] = paths.get(path, {}) | methods
    return paths


def _whole(number: str) -> float:
    """Return an integer for a bound that Powertools writes as 1.0."""
    value = float(number)
    return int(value) if value.is_integer() else value


def _joined(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of both. Raises NameTaken if two schemas of one name differ."""
    schemas, more = whole["components"]["schemas"], _named(part)
    for name, schema in more.items():
        if schemas.get(name, schema) != schema:
            routes = ", ".join(sorted(part["paths"]))
            raise NameTaken(
                f"{routes}: the schema {name} differs from that of an earlier route; rename its class"
            )
    return {"schemas": schemas | more}


def _named(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of a route, without Powertools' errors and titles that repeat a field's name."""
    schemas: dict[str, Any] = part["components"]["schemas"]
    for name in ("HTTPValidationError", "ResponseValidationError", "ValidationError"):
        schemas.pop(name, None)
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
    return schemas
