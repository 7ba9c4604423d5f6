"""The reference of the HTTP API as Markdown, a page a subject, made from its OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MARKER = "<!-- routes -->"
FOLDER = "http"
PROBLEM = "application/problem+json"
OF_BATCHES = r"^/v1/batches(?!.*/(outstanding|failures|map|token|results|children|reopen|origin)$)"
SUBJECTS = {
    "batches": ("Batches", OF_BATCHES),
    "acks": ("Acks and failures", r"^/v1/acks|/(outstanding|failures|map)$"),
    "progress": ("Progress on a page of yours", r"/token$|^/v1/progress$"),
    "results": ("Results", r"/results$"),
    "children": ("Children and reopened batches", r"/(children|reopen|origin)$"),
    "publications": ("Publications", r"^/v1/publications"),
    "tasks": ("Tasks and bundles", r"^/v1/(tasks|bundles|targets)"),
    "queues": ("Work queues", r"^/v1/queues(?!.*/(pause|resume|revive|delete)$)"),
    "administration": ("Administration of work queues", r"/(pause|resume|revive|delete)$"),
    "health": ("Health", r"^/v1/health"),
}
"""The pages: a name, a title, and the paths of its routes."""
SHARED = "schemas"
"""The page of the schemas that routes of several pages have."""
Schema = Mapping[str, Any]
Route = tuple[str, str, Schema]


@dataclass
class Reference:
    """The pages of a *document*."""

    document: Schema
    routes: dict[str, list[Route]] = field(init=False)
    schemas: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        every = [(_page_of(path), (method, path, route)) for method, path, route in _routes(self.document)]
        self.routes = {name: [route for page, route in every if page == name] for name in SUBJECTS}
        used = {name: self._used([route for *_, route in routes]) for name, routes in self.routes.items()}
        self.schemas = {}
        for name in sorted(self.document["components"]["schemas"]):
            pages = [page for page, names in used.items() if name in names]
            self.schemas[name] = pages[0] if len(pages) == 1 else SHARED

    def index(self) -> str:
        """Return a table of the routes and a list of the schemas, with the anchors of the sections."""
        lines = []
        for name, (title, _) in SUBJECTS.items():
            lines += ["", f"## [{title}]({FOLDER}/{name}.md)", "", "| route | what it does |", "|---|---|"]
            for method, path, route in self.routes[name]:
                at = _anchor(route)
                link = f"[`{method} {path}`]({FOLDER}/{name}.md#{at}){{ #{at} }}"
                lines.append(f"| {link} | {route['summary']} |")
        links = (
            f"[{name}]({FOLDER}/{page}.md#{name.lower()}){{ #{name.lower()} }}"
            for name, page in self.schemas.items()
        )
        return "\n".join([*lines, "", f"## [Schemas]({FOLDER}/{SHARED}.md)", "", f"{', '.join(links)}.", ""])

    def pages(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each page."""
        titles = {name: title for name, (title, _) in SUBJECTS.items()} | {
            SHARED: "Schemas of several routes"
        }
        for page, title in titles.items():
            lines = [f"# {title}"]
            for method, path, route in self.routes.get(page, ()):
                lines += _section(method, path, route)
            own = [name for name, where in self.schemas.items() if where == page]
            level = "##" if page == SHARED else "###"
            lines += ["", "## Schemas"] if own and page != SHARED else []
            for name in own:
                lines += _schema(level, name, self.document["components"]["schemas"][name])
            yield f"{FOLDER}/{page}.md", self._linked("\n".join(lines), page) + "\n"

    def _linked(self, text: str, page: str) -> str:
        """Return *text* with the links to schemas of other pages."""

        def link(found: re.Match[str]) -> str:
            where = self.schemas[found[1]]
            return f"[{found[1]}]({'' if where == page else f'{where}.md'}#{found[1].lower()})"

        return re.sub(r"\[(\w+)\]\(#\w+\)", link, text)

    def _used(self, routes: Iterable[Schema]) -> set[str]:
        """Return the names of the schemas that *routes* refer to, and these to."""
        used: set[str] = set()
        found = _names(routes)
        while found - used:
            new = found - used
            used |= new
            found = _names(self.document["components"]["schemas"][name] for name in new)
        return used


def _names(parts: Iterable[Schema]) -> set[str]:
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(list(parts))))


def _page_of(path: str) -> str:
    return next(name for name, (_, pattern) in SUBJECTS.items() if re.search(pattern, path))


def _routes(document: Schema) -> Iterator[Route]:
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            if method in {"get", "post", "put", "delete", "patch"}:
                yield method.upper(), path, route


def _anchor(route: Schema) -> str:
    return f"route-{route['operationId'].lower()}"


def _section(method: str, path: str, route: Schema) -> list[str]:
    lines = ["", f"## {route['summary']} {{ #{_anchor(route)} }}", "", f"    {method} {path}", ""]
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


def _schema(level: str, name: str, schema: Schema) -> list[str]:
    lines = ["", f"{level} {name} {{ #{name.lower()} }}", ""]
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
