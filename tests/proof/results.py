"""The last result of each proof command, in ``build/proof/results``; the page is written from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "proof" / "results"
SECTIONS = (
    "simulators",
    "exhaustive",
    "histories",
    "mutants",
    "generated-mutants",
    "crashes",
    "faults",
    "witness",
    "conformance",
    "soak",
    "fuzz",
    "audit",
)


@dataclass(frozen=True, slots=True)
class Result:
    """One table. *command* prints it; *commit*: of the tree ("+": with changes); *date*: UTC."""

    section: str
    command: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    commit: str
    date: str


def keep(
    section: str, command: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> None:
    """Write the result of a section. *command* writes it again; *note*: a paragraph below the table."""
    if section not in SECTIONS:
        raise ValueError(f"no section {section!r}: choose one of {', '.join(SECTIONS)}")
    crooked = [row for row in rows if len(row) != len(columns)]
    if crooked:
        raise ValueError(f"{section}: {len(columns)} columns, and a row {crooked[0]!r}")
    result = Result(section, command, columns, rows, note, _commit(), f"{datetime.now(UTC):%Y-%m-%d}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{section}.json").write_text(json.dumps(asdict(result), indent=2, ensure_ascii=False) + "\n")


def kept(section: str) -> Result | None:
    """Return the last result of a section, None if there is none."""
    path = RESULTS / f"{section}.json"
    return Result(**json.loads(path.read_text())) if path.exists() else None


def _commit() -> str:
    from lab.pages.revision import commit  # here, so that a fingerprint of the tests has no file of it

    return commit()
