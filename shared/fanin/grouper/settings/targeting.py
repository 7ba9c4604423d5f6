"""Computes the target of a task from fields of its payload, by a template such as ``{customer}/{region}``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fanin.errors import InvalidRequest, NoTarget
from fanin.grouper.rules.ids import TARGET_FORM, checked_target
from fanin.grouper.rules.model import NewTask

TEMPLATE_MAX = 256
FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7})\}")
LITERAL = re.compile(r"[A-Za-z0-9._/-]*")
NUMBER_END = 10**127
VALUE = re.compile(r"[A-Za-z0-9._-]{1,128}")
"""A value has no ``/``, which separates fields, so different values never have the same target."""


@dataclass(frozen=True, slots=True)
class TargetTemplate:
    """A template of targets: fields of the payload in braces, a dot for a field within an object.

    *literals* stand around the *fields*, one more than these.
    """

    literals: tuple[str, ...]
    fields: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> TargetTemplate:
        """Return the template in *text*. Raises InvalidRequest."""
        parts = FIELD.split(text)
        literals, fields = tuple(parts[::2]), tuple(parts[1::2])
        if not fields or len(text) > TEMPLATE_MAX or not all(map(LITERAL.fullmatch, literals)):
            raise InvalidRequest(
                f"the template of targets is {text!r}; it takes fields of the payload in braces, such as"
                " {customer}/{region}, and between them A-Z, a-z, 0-9, '.', '_', '-' and '/'"
            )
        if not all("/" in literal for literal in literals[1:-1]):
            raise InvalidRequest(
                f"the template of targets is {text!r}; it needs a / between two fields, so that different"
                " fields never have the same target"
            )
        return cls(literals, fields)

    def __call__(self, new_task: NewTask) -> str:
        """Return the target of *new_task*. Raises NoTarget if its payload lacks a field."""
        values = [_value(new_task.payload, field) for field in self.fields]
        pairs = zip(self.literals, (*values, ""), strict=True)
        target = "".join(literal + value for literal, value in pairs)
        if not TARGET_FORM.fullmatch(target):
            raise NoTarget(
                f"the target computed from the payload is {target[:160]!r}, which is no valid target"
            )
        return checked_target(target)


def _value(payload: Any, field: str) -> str:
    """Return the field of the payload as it stands in the target: a text, or a whole number in decimal."""
    value = payload
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            raise NoTarget(
                f"the payload has no field {field}, from which the target is computed",
                field=f"payload.{field}",
            )
        value = value[name]
    text = str(value) if type(value) is int and abs(value) < NUMBER_END else value
    if not isinstance(text, str) or not VALUE.fullmatch(text):
        raise NoTarget(
            f"the field {field} of the payload is a part of the target; it must be a whole number, or 1 to"
            " 128 characters of A-Z, a-z, 0-9, '.', '_' and '-'",
            field=f"payload.{field}",
        )
    return text
