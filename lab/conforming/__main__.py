"""Judges other trackers by the cases of fanin_conformance, and writes the table of docs/conformance.md.

Celery, BullMQ and their packages are installed as ``make peers`` does; redis-server and Node must be there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from fanin_conformance import CASES
from lab.pages.revision import ROOT
from lab.pages.tables import placed, table
from lab.peers.installing import NODE_PACKAGES, PYTHON_PACKAGES, bullmq_folder, celery_python, missing
from lab.peers.servers import dynamodb, redis_server

PAGE = ROOT / "docs" / "conformance.md"
PROOF = ROOT / "docs" / "proof.md"
OURS = re.compile(r"^\| conformance \|.* \| (\d+) cases: (\d+) pass\b.* at `(\w+\+?)` \|$", re.MULTILINE)
COLUMNS = ("tracker", "version", "pass", "fail", "not supported")
EFFORT = ("--rounds", "200", "--items", "2000", "--timeout", "900")
IDS = re.compile(r"(?:[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}:?)+-?\d*")
VALUE = re.compile(r":? \(?(?:Added|Answer)\(.*")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """The *rows* of a tracker: those of ``--json``. *version*: of its software."""

    name: str
    version: str
    rows: Sequence[Row]

    def counted(self) -> tuple[str, ...]:
        """Return its line: how many cases passed, failed, and were not judged."""
        counts = Counter(_verdict(row) for row in self.rows)
        return (self.name, self.version, *(str(counts[each]) for each in COLUMNS[2:]))

    def line(self) -> tuple[str, ...]:
        """Return its line with the ids of the cases that pass."""
        passed = [row["id"] for row in self.rows if _verdict(row) == "pass"]
        name, release, count, *others = self.counted()
        return (name, release, f"{count}: {', '.join(passed)}", *others)


def main() -> int:
    """Judge all, and write the page; return 1 if a program is missing."""
    if lacking := missing():
        print(lacking, file=sys.stderr)
        return 1
    ours = line_of_fanin(PROOF.read_text())
    PAGE.write_text(written(PAGE.read_text(), ours, list(_judged())))
    return 0


def line_of_fanin(proof: str) -> tuple[str, ...]:
    """Return the line of fanin, from the page of proofs. Raises ValueError unless it passes all cases."""
    found = OURS.search(proof)
    if not found or {*found.groups()[:2]} != {str(len(CASES))}:
        raise ValueError("docs/proof.md does not say that all cases pass: run make conformance, and mend it")
    return ("fanin", f"`{found[3]}`", f"{found[2]}: all", "0", "0")


def written(page: str, ours: Sequence[str], judged: Sequence[Judged]) -> str:
    """Return *page* with the tables of the trackers, and of the cases that fail."""
    counts = table(COLUMNS, [ours, *(each.line() for each in judged)])
    failed = table(("tracker", "cases that fail, and what was seen"), list(_failed(judged)))
    return placed(placed(page, "others", counts), "failed", failed)


def _failed(judged: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    """Yield a line for the trackers that fail the same cases, with what was seen of the first of them."""
    seen: dict[str, list[str]] = {}
    for name in CASES:
        bad = [(each.name, row) for each in judged for row in each.rows if row["id"] == name and _is_bad(row)]
        if bad:
            trackers = ", ".join(tracker for tracker, _ in bad)
            seen.setdefault(trackers, []).append(f"{name}: {short(bad[0][1]['seen'])}")
    return ((trackers, "; ".join(cases)) for trackers, cases in seen.items())


def short(seen: str) -> str:
    """Return what was seen without ids and values."""
    return VALUE.sub("", IDS.sub("...", seen).replace("|", "\\|"))


def _is_bad(row: Row) -> bool:
    return _verdict(row) == "fail"


def _verdict(row: Row) -> str:
    return "fail" if row["verdict"] == "error" else str(row["verdict"])


def _judged() -> Iterator[Judged]:
    celery, bullmq = PYTHON_PACKAGES["celery"].rpartition("=")[2], NODE_PACKAGES["bullmq"].rpartition("@")[2]
    python, ours = str(celery_python()), sys.executable
    bullmq_folder()
    engine = _redis_version()
    with redis_server() as port:
        url = f"redis://127.0.0.1:{port}"
        yield _run("Celery chord", celery, python, "chord:Chord", f"{url}/0")
        yield _run("BullMQ flow", bullmq, ours, "flow:Flow", url)
        yield _run("Redis counter", engine, ours, "counters:RedisCounter", url)
        yield _run("Redis set", engine, ours, "counters:RedisSet", url)
    with dynamodb() as endpoint:
        emulator = f"emulator {version('ministack')}"
        yield _run("DynamoDB counter", emulator, ours, "counters:TableCounter", endpoint)


def _run(name: str, release: str, python: str, adapter: str, url: str) -> Judged:
    command = [python, "-m", "fanin_conformance", "--adapter", f"lab.conforming.{adapter}", "--url", url]
    command += [*EFFORT, "--json"]
    completed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - ours
    if completed.returncode > 1:
        raise RuntimeError(f"{name}: the judge exited with {completed.returncode}")
    found = Judged(name, release, json.loads(completed.stdout)["cases"])
    print(*found.counted(), flush=True)
    return found


def _redis_version() -> str:
    text = subprocess.run(["redis-server", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S607
    return text.partition("v=")[2].split()[0]


if __name__ == "__main__":
    sys.exit(main())
