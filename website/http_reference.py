"""The reference of the HTTP API as Markdown, made from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MARKER = "<!-- routes -->"
PROBLEM = "application/problem+json"
GROUPS = {
    "/v1/batches": "Batches",
    "/v1/acks": "Acks",
    "/v1/tasks": "Tasks and bundles",
    "/v1/bundles": "Tasks and bundles",
    "/v1/targets": "Tasks and bundles",
    "/v1/queues": "Work queues",
    "/v1/health": "Health",
}
OTHERS = "Others"
Schema = Mapping[str, Any]


def reference(document: Schema) -> str:
    """Return a table of the routes, a section for each of them, and one for each schema."""
    routes = list(_routes(document))
    lines = ["## Routes", "", "| route | what it does |", "|---|---|"]
    lines += [
        f"| [`{method} {path}`](#{_anchor(route)}) | {route['summary']} |" for method, path, route in routes
    ]
    found = {_group(path) for _, path, _ in routes}
    for group in [each for each in dict.fromkeys((*GROUPS.values(), OTHERS)) if each in found]:
        lines += ["", f"## {group}"]
        for method, path, route in routes:
            if _group(path) == group:
                lines += _section(method, path, route)
    lines += ["", "## Schemas"]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _schema(name, schema)
    return "\n".join(lines) + "\n"


def _routes(document: Schema) -> Iterable[tuple[str, str, Schema]]:
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            if method in {"get", "post", "put", "delete", "patch"}:
                yield method.upper(), path, route


def _group(path: str) -> str:
    return next((group for start, group in GROUPS.items() if path.startswith(start)), OTHERS)


def _anchor(route: Schema) -> str:
    return f"route-{route['operationId'].lower()}"


def _section(method: str, path: str, route: Schema) -> list[str]:
    lines = ["", f"### {route['summary']} {{ #{_anchor(route)} }}", "", f"    {method} {path}", ""]
    if route.get("description"):
        lines += [_line(route["description"]), ""]
    lines += _parameters(route.get("parameters", []))
    body = route.get("requestBody")
    if body:
        lines += [f"Body: {_content(body)}{'' if body.get('required') else ', optional'}.", ""]
    return lines + _answers(route["responses"])


def _parameters(parameters: Iterable[Schema]) -> list[str]:
    rows = [
        f"| `{one['name']}` | {one['in']} | {_type(one['schema'])} | {_line(one.get('description', ''))} |"
        for one in parameters
    ]
    return ["| parameter | in | type | meaning |", "|---|---|---|---|", *rows, ""] if rows else []


def _answers(responses: Schema) -> list[str]:
    good = [f"{status} {_content(answer)}".strip() for status, answer in responses.items() if status < "400"]
    problems = [status for status in responses if status >= "400"]
    ending = f" Problems: {', '.join(problems)}." if problems else ""
    return [f"Answer: {'; '.join(good)}.{ending}"]


def _content(part: Schema) -> str:
    types = part.get("content", {})
    return " or ".join(_type(one["schema"]) for media, one in types.items() if media != PROBLEM)


def _schema(name: str, schema: Schema) -> list[str]:
    lines = ["", f"### {name} {{ #{name.lower()} }}", ""]
    if schema.get("description"):
        lines += [_line(schema["description"]), ""]
    if "enum" in schema:
        return [*lines, "One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + "."]
    if "oneOf" in schema:
        return [*lines, f"Either {_type(schema)}."]
    required = schema.get("required", ())
    fields = schema.get("properties", {}).items()
    rows = [_field(field, one, optional=field not in required) for field, one in fields]
    return [*lines, "| field | type | meaning |", "|---|---|---|", *rows] if rows else lines


def _field(name: str, schema: Schema, *, optional: bool) -> str:
    mark = " (optional)" if optional else ""
    return f"| `{name}`{mark} | {_type(schema)} | {_line(schema.get('description', ''))} |"


def _type(schema: Schema) -> str:
    """Return in short what a value may be, with links to named schemas."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[several])))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}{_bounds(schema, 'minItems', 'maxItems')}"
    kind = "any JSON value" if "type" not in schema else _kind(schema)
    return f"{kind}{_bounds(schema, 'minimum', 'maximum')}{_bounds(schema, 'minLength', 'maxLength')}"


def _kind(schema: Schema) -> str:
    return f"`{schema['const']}`" if "const" in schema else str(schema.get("format", schema["type"]))


def _bounds(schema: Schema, least: str, most: str) -> str:
    unit = " characters" if least == "minLength" and (least in schema or most in schema) else ""
    if least in schema and most in schema:
        return f", {schema[least]:,} to {schema[most]:,}{unit}"
    if most in schema:
        return f", at most {schema[most]:,}{unit}"
    return f", at least {schema[least]:,}{unit}" if least in schema else ""


def _line(text: str) -> str:
    """Return *text* as one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")
