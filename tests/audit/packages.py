"""Which of the pinned packages have a known vulnerability, and which could not be looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
Document = Mapping[str, Any]


@dataclass(slots=True)
class Audited:
    """The outcome of the packages of a lock file. *vulnerable*: (package, version, advisory)."""

    packages: int = 0
    unknown: list[str] = field(default_factory=list)
    vulnerable: list[tuple[str, str, str]] = field(default_factory=list)


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock file."""
    return {canonicalize_name(name): version for name, version in PIN.findall(lock)}


def reported(report: Document) -> Audited:
    """Read the JSON report of pip-audit: a package that it skipped counts as unknown, and not as sound."""
    found = Audited()
    for package in report["dependencies"]:
        found.packages += 1
        if "skip_reason" in package:
            found.unknown.append(package["name"])
        found.vulnerable += [
            (package["name"], package["version"], advisory["id"]) for advisory in package.get("vulns", ())
        ]
    return found


def compared(locked: Mapping[str, str], advisories: Iterable[Document]) -> Audited:
    """Compare pinned versions with advisories in the form of OSV."""
    found = Audited(len(locked))
    for advisory in advisories:
        if "withdrawn" in advisory:
            continue
        for affected in advisory.get("affected", ()):
            name = canonicalize_name(affected["package"]["name"])
            if name in locked and _is_affected(locked[name], affected):
                found.vulnerable.append((name, locked[name], advisory["id"]))
    return found


def advisories_in(folder: Path, names: Iterable[str]) -> Iterable[Document]:
    """Read the advisories on packages of these names from a clone of pypa/advisory-database."""
    for name in sorted(names):
        for path in sorted((folder / "vulns" / name).glob("*.yaml")):
            yield yaml.safe_load(path.read_text())


def last_change(folder: Path) -> str:
    """Return the day of the newest change in a clone of pypa/advisory-database."""
    lines = (path.open().readlines(1000) for path in folder.glob("vulns/*/*.yaml"))
    days = (
        line.split()[1].strip("\"'")[:10] for head in lines for line in head if line.startswith("modified:")
    )
    return max(days, default="no day")


def _is_affected(version: str, affected: Document) -> bool:
    """By OSV's schema: a version is affected if it is listed, or within a range."""
    if version in map(str, affected.get("versions", ())):
        return True
    ranges = (each for each in affected.get("ranges", ()) if each["type"] in ("ECOSYSTEM", "SEMVER"))
    return any(_is_within(Version(version), each["events"]) for each in ranges)


def _is_within(version: Version, events: Iterable[Mapping[str, str]]) -> bool:
    """Follow the events of a range in the order of their versions."""
    inside = False
    for at, kind in sorted((_version(value), kind) for event in events for kind, value in event.items()):
        if kind == "introduced" and version >= at:
            inside = True
        if (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            inside = False
    return inside


def _version(text: str) -> Version:
    """A limit that is no version of Python's form does not end a range: it is far above."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("99999")
