"""The last result of each measurement, in ``lab/results/NAME.json``; ``lab.pages.page`` shows it.

A measurement calls `keep` once, at its end::

    keep("last_ack", "make last-ack", {"delays": Table(("way", "p50"), (("by stream", "600 ms"),))})
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lab.pages.revision import ROOT, commit

RESULTS = ROOT / "lab" / "results"
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the cells are texts, as the page shows them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        crooked = [row for row in self.rows if len(row) != len(self.columns)]
        if crooked:
            raise ValueError(f"{len(self.columns)} columns, and a row {crooked[0]!r}")


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot. *bars*: a value by label; or *lines*: points by the name of the line.

    *log*: the axes with a logarithmic scale, of "x" and "y"; that of bars is "x".
    """

    title: str
    x: str
    y: str = ""
    bars: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    log: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What was aimed at, and what was *measured*. A target that is not met has a *reason*."""

    what: str
    target: str
    measured: str
    is_met: bool
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.is_met and not self.reason:
            raise ValueError(f"{self.what}: not met, and no reason")


@dataclass(frozen=True, slots=True)
class Result:
    """What a benchmark found. *figures*: texts that the page quotes, by name; *commit*: "+": with changes."""

    name: str
    command: str
    tables: Mapping[str, Table]
    plots: Mapping[str, Plot] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)
    targets: Sequence[Target] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""
    commit: str = ""
    date: str = ""


def keep(
    name: str,
    command: str,
    tables: Mapping[str, Table],
    plots: Mapping[str, Plot] | None = None,
    figures: Mapping[str, str] | None = None,
    targets: Sequence[Target] = (),
    packages: Sequence[str] = (),
) -> Result:
    """Write and return a result. *command* prints it again; *packages*: whose version matters."""
    versions = {"Python": platform.python_version(), **{each: version(each) for each in packages}}
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    result = Result(
        name, command, tables, plots or {}, figures or {}, targets, versions, machine(), commit(), date
    )
    save(result)
    return result


def save(result: Result) -> None:
    """Write *result*, in place of the last one of its benchmark."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(result), indent=2, ensure_ascii=False)
    _path(result.name).write_text(text + "\n")


def kept(name: str) -> Result | None:
    """Return the last result of a benchmark, None if there is none."""
    path = _path(name)
    return _result(json.loads(path.read_text())) if path.exists() else None


def names() -> list[str]:
    """Return the names that have a result."""
    return sorted(path.stem for path in RESULTS.glob("*.json"))


def machine() -> str:
    """Return the cores and the memory of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{os.cpu_count()} cores, {memory / 2**30:.0f} GiB"


def _path(name: str) -> Path:
    return RESULTS / f"{name}.json"


def _result(found: dict[str, Any]) -> Result:
    tables = {name: Table(**each) for name, each in found["tables"].items()}
    plots = {name: Plot(**each) for name, each in found["plots"].items()}
    return Result(
        **{
            **found,
            "tables": tables,
            "plots": plots,
            "targets": [Target(**each) for each in found["targets"]],
        }
    )
