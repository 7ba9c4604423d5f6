"""Which of npm's packages that are installed have a known vulnerability."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.audit.packages import Audited, Document, compared

INSTALLED = ".package-lock.json"


def installed(folder: Path) -> list[dict[str, str]]:
    """Return the versions of the packages in a folder node_modules, by name.

    Of a package with several versions there, each is in a mapping of its own.
    """
    found: list[dict[str, str]] = []
    path = folder / INSTALLED
    packages = json.loads(path.read_text())["packages"] if path.exists() else {}
    for where, package in sorted(packages.items()):
        name = canonicalize_name(where.rpartition("node_modules/")[2])
        place = next(
            (each for each in found if each.get(name, package["version"]) == package["version"]), None
        )
        if place is None:
            found.append(place := {})
        place[name] = package["version"]
    return found


def audited(folder: Path, advisories: Path | None) -> Audited:
    """Compare what is in *folder* with *advisories*; without those, no package was looked up."""
    versions = installed(folder)
    pairs = {pair for each in versions for pair in each.items()}
    known = [] if advisories is None else list(advisories_in(advisories))
    if not known:
        return Audited(len(pairs), sorted(name for name, _ in pairs))
    found = {each for one in versions for each in compared(one, known).vulnerable}
    return Audited(len(pairs), [], sorted(found))


def advisories_in(folder: Path) -> Iterator[Document]:
    """Read the advisories on npm's packages of a folder with one in each JSON file, in the form of OSV.

    Such folders are a clone of github/advisory-database, and the file npm/all.zip of osv.dev, unpacked.
    """
    for path in sorted(folder.rglob("*.json")):
        text = path.read_text()
        if '"npm"' in text:
            advisory = json.loads(text)
            named = [each for each in advisory.get("affected", ()) if each["package"]["ecosystem"] == "npm"]
            yield {**advisory, "affected": named}
