"""A record of a Debian package index, checked by the rules of Debian Policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanin.errors import InvalidRequest

# Policy 5.6.1 and 5.6.12: names, and [epoch:]upstream[-revision], with colons only after an epoch.
NAME = r"[a-z0-9][a-z0-9+.-]+"
VERSION = r"(?:[0-9]+:[A-Za-z0-9.+~:-]+|[A-Za-z0-9.+~-]+)"
# Policy 7.1: a name, then perhaps an architecture, a relation to a version, a list of architectures.
RELATION = rf"\((?:<<|<=|=|>=|>>)\s*{VERSION}\)"
DEPENDENCY = re.compile(rf"({NAME})(?::[a-z0-9-]+)?\s*(?:{RELATION})?\s*(?:\[[^\]]*\])?")


@dataclass(frozen=True, slots=True)
class Package:
    """One package; *size* in bytes, *depends* the distinct names of all alternatives, in order."""

    name: str
    version: str
    section: str
    maintainer: str
    size: int
    depends: tuple[str, ...]


def checked(record: object) -> Package:
    """Return the package in *record*, or raise InvalidRequest with the name of the invalid field."""
    if not isinstance(record, dict):
        raise InvalidRequest("the record is not an object", field="record")
    return Package(
        name=_matching(record, "name", NAME),
        version=_matching(record, "version", VERSION),
        section=_matching(record, "section", r".*"),
        maintainer=_matching(record, "maintainer", r".*"),
        size=_positive(record, "size"),
        depends=_dependencies(_matching(record, "depends", r".*")),
    )


def _matching(record: Mapping[str, Any], field: str, pattern: str) -> str:
    value = record.get(field)
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise InvalidRequest(f"the record's {field} is not valid", field=field)
    return value


def _positive(record: Mapping[str, Any], field: str) -> int:
    value = record.get(field)
    if type(value) is not int or value <= 0:
        raise InvalidRequest(f"the record's {field} is not a positive whole number", field=field)
    return value


def _dependencies(text: str) -> tuple[str, ...]:
    alternatives = [part.strip() for part in re.split(r"[,|]", text)] if text else []
    return tuple(dict.fromkeys(_dependency(part) for part in alternatives))


def _dependency(text: str) -> str:
    match = DEPENDENCY.fullmatch(text)
    if not match:
        raise InvalidRequest("the record's depends is not a list of packages", field="depends")
    return match[1]
