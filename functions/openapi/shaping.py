"""Schemas in the form that generated clients need: bodies as one of their forms, answers without null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schemas = dict[str, Any]

FORMS = {
    "AckItemsBody": {"AckIdsBody": ["items"], "AckEntriesBody": ["acks"]},
    "AckBody": {"AckItemBody": ["itemId"], "AckRangeBody": ["batchId", "groupId", "from", "to"]},
    "RegisterTaskBody": {"TaskBody": ["payload"], "TasksBody": ["tasks"]},
    "ReviveBody": {"ReviveSomeBody": ["deadIds"], "ReviveAllBody": ["all"]},
}
"""Bodies of which a request has one form, and the fields that a form requires."""
BESIDE = {
    "AckIdsBody": ["dryRun"],
    "AckEntriesBody": ["dryRun"],
    "AckItemBody": ["outcome", "reason"],
    "AckRangeBody": ["outcome", "reason"],
    "TaskBody": ["target", "taskId", "priority", "itemId"],
    "ReviveAllBody": ["cursor"],
}
"""The other fields that a form may have."""


def shaped(schemas: Schemas) -> Schemas:
    """Return *schemas* with each body of FORMS as one of its forms, and answers without null for absent."""
    whole = dict(schemas)
    for name, forms in FORMS.items():
        form_schemas = {form: _form(schemas[name], form, needed) for form, needed in forms.items()}
        whole |= {form: schema for form, schema in form_schemas.items() if form not in schemas}
        whole[name] = _one_of(schemas[name], forms)
    for name in answers(whole):
        whole[name] = _answer(whole[name])
    return whole


def answers(schemas: Schemas) -> Iterator[str]:
    """Yield the names of the schemas that are no body."""
    return (name for name in schemas if not name.endswith("Body"))


def _one_of(schema: Mapping[str, Any], forms: Mapping[str, Any]) -> dict[str, Any]:
    references = [{"$ref": f"#/components/schemas/{form}"} for form in forms]
    return {name: schema[name] for name in ("title", "description")} | {"oneOf": references}


def _form(schema: Mapping[str, Any], name: str, needed: list[str]) -> dict[str, Any]:
    fields = schema["properties"]
    given = {field: never_null(fields[field]) for field in needed}
    return {
        "type": "object",
        "title": name,
        "properties": given | {field: fields[field] for field in BESIDE.get(name, ())},
        "required": needed,
        "additionalProperties": False,
    }


def _answer(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer: a field that is left out where it has no value is never null."""
    required = schema.get("required", ())
    fields = {
        name: _exclusive(field if name in required else never_null(field))
        for name, field in schema.get("properties", {}).items()
    }
    return schema | {"properties": fields} if fields else schema


def never_null(field: dict[str, Any]) -> dict[str, Any]:
    """Return *field* without the alternative null, which queries and headers do not have."""
    forms = [form for form in field.get("anyOf", ()) if form != {"type": "null"}]
    if len(forms) != 1:
        return field
    (form,) = forms
    return {**form, **{name: value for name, value in field.items() if name != "anyOf"}}


def _exclusive(field: dict[str, Any]) -> dict[str, Any]:
    """Return a list of one of several objects as such: its entries match exactly one of them."""
    entries = field.get("items", {})
    if "anyOf" not in entries:
        return field
    return field | {"items": {"oneOf": entries["anyOf"]}}
