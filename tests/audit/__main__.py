"""Audits what is installed and committed: ``make audit``.

    python -m tests.audit [--advisories FOLDER] [--npm-advisories FOLDER] [--accept-secrets]

Looks each pinned package up in the advisories of PyPI, writes a bill of material (CycloneDX) of each lock
file into build/sbom, and searches the committed files for secrets. Without the service of PyPI,
``--advisories`` names a clone of github.com/pypa/advisory-database. The packages of npm in node_modules are
looked up in ``--npm-advisories``: a clone of github.com/github/advisory-database, or npm/all.zip of osv.dev,
unpacked. Ends with 1 where something was found, or a package could not be looked up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.audit import npm, secrets
from tests.audit.packages import Audited, advisories_in, compared, last_change, pins, reported
from tests.proof.results import ROOT, keep

TOOLS = ROOT / ".venv-audit" / "bin"
LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-audit.txt")
BASELINE = ROOT / "tests" / "audit" / "seen.json"
BILLS = ROOT / "build" / "sbom"
# Hashes of lock files and of the layer are no secrets, and nothing but they look random here.
SCAN = (
    *("--disable-plugin", "Base64HighEntropyString", "--disable-plugin", "HexHighEntropyString"),
    *("--exclude-files", r"requirements.*\.txt|__snapshots__|tests/audit/seen\.json"),
)
NOT_LOOKED_UP = "not looked up"
Row = tuple[str, str, str]


def main(argv: Sequence[str] | None = None) -> int:
    """0 where all was looked up and nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--advisories", type=Path, help="a clone of pypa/advisory-database, for PyPI's service"
    )
    parser.add_argument(
        "--npm-advisories", type=Path, help="a clone of github/advisory-database, or OSV's dump for npm"
    )
    parser.add_argument("--accept-secrets", action="store_true", help="what is found now is no secret")
    wanted = parser.parse_args(argv)
    results = [_packages(lock, wanted.advisories) for lock in LOCKS]
    results.append(_of_npm(wanted.npm_advisories))
    results += [_bill(lock) for lock in LOCKS]
    results.append(_secrets(wanted.accept_secrets))
    rows = [row for row, _ in results]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, (42, 44, 0), strict=True)))
    given = "" if wanted.advisories is None else ' ARGS="--advisories FOLDER"'
    if all(is_looked_up(row) for row in rows[: len(LOCKS)]):
        keep("audit", f"make audit{given}", ("what", "looked at", "found"), rows)
    else:
        print("not kept for docs/proof.md: packages of Python were not looked up")
    return 0 if all(sound for _, sound in results) else 1


def is_looked_up(row: Row) -> bool:
    """Return whether the packages of a row were compared with advisories."""
    return NOT_LOOKED_UP not in row[2]


def _packages(lock: str, advisories: Path | None) -> tuple[Row, bool]:
    found = _from_clone(lock, advisories) if advisories else _from_service(lock)
    source = f"advisories to {last_change(advisories)}" if advisories else "PyPI's advisories"
    return _row(found, f"vulnerabilities in {lock}", source, "--advisories")


def _of_npm(advisories: Path | None) -> tuple[Row, bool]:
    found = npm.audited(ROOT / "node_modules", advisories)
    if not found.packages:
        row = (
            "vulnerabilities in node_modules",
            "0 packages, npm",
            "node_modules is empty: run npm install before",
        )
        return row, False
    return _row(found, "vulnerabilities in node_modules", "npm", "--npm-advisories")


def _row(found: Audited, what: str, source: str, option: str) -> tuple[Row, bool]:
    looked = f"{max(found.packages - len(found.unknown), 0)} of {found.packages} packages, {source}"
    names = [f"{name} {version}: {advisory}" for name, version, advisory in found.vulnerable]
    unknown = f"{NOT_LOOKED_UP}: {len(found.unknown)} (try {option})" if found.unknown else ""
    shown = "; ".join([*names, *([unknown] if unknown else [])]) or "nothing"
    return (what, looked, shown), not (found.vulnerable or found.unknown)


def _from_service(lock: str) -> Audited:
    command = [TOOLS / "pip-audit", "-r", lock, "--disable-pip", "--require-hashes", "-f", "json"]
    command += ["--progress-spinner", "off"]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if not answer.stdout:
        locked = pins((ROOT / lock).read_text())
        return Audited(len(locked), sorted(locked))
    return reported(json.loads(answer.stdout))


def _from_clone(lock: str, folder: Path) -> Audited:
    if not (folder / "vulns").is_dir():
        raise SystemExit(f"{folder} has no folder vulns: name a clone of pypa/advisory-database")
    locked = pins((ROOT / lock).read_text())
    return compared(locked, advisories_in(folder, locked))


def _bill(lock: str) -> tuple[Row, bool]:
    BILLS.mkdir(parents=True, exist_ok=True)
    path = BILLS / f"{Path(lock).stem}.cdx.json"
    command = [TOOLS / "cyclonedx-py", "requirements", lock, "--pyproject", "pyproject.toml"]
    command += ["--mc-type", "library", "--output-reproducible", "--validate", "-o", path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    components = {part["name"] for part in json.loads(path.read_text())["components"]}
    locked = pins((ROOT / lock).read_text())
    missing = sorted(set(locked) - {name.lower().replace("_", "-").replace(".", "-") for name in components})
    row = (
        f"bill of material of {lock}",
        f"{len(components)} packages, CycloneDX",
        str(path.relative_to(ROOT)),
    )
    return (row if not missing else (*row[:2], f"missing: {missing}")), not missing


def _secrets(accept: bool) -> tuple[Row, bool]:
    command = [TOOLS / "detect-secrets", "scan", *SCAN]
    report = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    if accept:
        BASELINE.write_text(json.dumps({"results": report["results"]}, indent=1) + "\n")
    new = secrets.unseen(report, json.loads(BASELINE.read_text()))
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    old = len(secrets.findings(report)) - len(new)
    looked = f"{len(files.stdout.split()):,} files; {old} findings looked at before"
    return ("secrets in committed files", looked, "; ".join(new) or "nothing"), not new


if __name__ == "__main__":
    sys.exit(main())
