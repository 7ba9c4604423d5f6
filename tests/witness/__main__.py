"""``python -m tests.witness``: the contract suites on each engine, compared case by case.

The cases on memory run beside those on moto. The distinct shapes of requests that each engine was sent are
compared with those that production code sends: ``tests/contract/expressions.json``, which tests/conftest.py
holds every test of the whole suite to.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence

from tests.contract import dynalite
from tests.proof import results
from tests.proof.interrupting import ended
from tests.request_rules import shapes
from tests.witness import rules
from tests.witness.legs import BUILD, Leg, read, rows

ENGINES = "moto,emulator,dynalite"
COLUMNS = ("engine", "cases", "passed", "skipped", "failed", "expressions", "differences")
MEMORY = "memory or fake"
# Cases of what the stores in memory do not have: versions of rows, rows of users.
OF_ROWS = re.compile(r"tests/contract/(test_\w+\.py|\w+/test_(\w*_rows|conditions)\.py)::")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the legs, print the table and keep it; return 1 if engines differ or an expression was not sent."""
    parser = argparse.ArgumentParser(prog="python -m tests.witness", description=__doc__)
    parser.add_argument(
        "--engines", default=ENGINES, help="of --endpoint: moto, emulator, dynalite, DIR or URL, aws"
    )
    parser.add_argument("--write", action="store_true", help="write tests/contract/expressions.json anew")
    parser.add_argument("tests", nargs="*", default=["tests/contract"], help="files of tests/contract")
    options = parser.parse_args(arguments)
    engines = available(options.engines.split(","))
    legs = [run(engine, options.tests, with_memory=engine == engines[0]) for engine in engines]
    table = rows(legs)
    whole = options.tests == ["tests/contract"]
    missing = missed(legs) if whole else []
    print(_table([COLUMNS, *table]))
    print(*missing, sep="\n")
    if whole:
        named = ",".join(engines)
        given = "" if named == ENGINES else f' ARGS="--engines {named}"'
        results.keep("witness", f"make witness{given}", COLUMNS, table, note(legs, missing))
    if options.write:
        write(legs)
    differs = whole and "dynalite" in engines and rules.main()
    wrong = differs or any(leg.failed for leg in legs) or any(row[-1] != "0" for row in table)
    return int(wrong or bool(missing and not options.write))


def available(engines: Sequence[str]) -> list[str]:
    """Return *engines* without dynalite where it is not installed, which is reported."""
    if dynalite.is_installed() or "dynalite" not in engines:
        return list(engines)
    print(f"without dynalite, which is not installed: {dynalite.INSTALL}", file=sys.stderr)
    return [each for each in engines if each != "dynalite"]


def run(engine: str, tests: Sequence[str], with_memory: bool) -> Leg:
    """Run the suites on *engine* in a process of its own."""
    BUILD.mkdir(parents=True, exist_ok=True)
    name = engine.partition(":")[0]
    report = BUILD / f"{name}.xml"
    shapes.kept(name)
    command = [sys.executable, "-m", "pytest", *tests, "-q", "-n", "0", "--endpoint", engine]
    command += ["--junitxml", str(report), "-p", "no:cacheprovider"]
    command += [] if with_memory else ["-k", f"not ({MEMORY})"]
    completed = subprocess.run(command, cwd=shapes.ROOT, capture_output=True, text=True, check=False)
    if not report.exists() or completed.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{completed.stdout[-3000:]}{completed.stderr[-3000:]}")
    return read(name, report.read_text(), shapes.kept(name))


def missed(legs: Sequence[Leg]) -> list[str]:
    """Return the listed shapes that no case sent on one of the engines, and those that are not listed."""
    found = []
    for leg in legs:
        sent, listed = leg.sent.keys(), shapes.listed()
        lacking = set() if leg.is_partial else listed - sent
        found += [f"not sent on {leg.engine}: {each}" for each in sorted(lacking)]
        found += [f"not listed, sent on {leg.engine}: {each}" for each in sorted(sent - listed)]
    return [*found, *(f"sent by no case on memory: {each}" for each in on_engines_alone(legs[0]))]


def on_engines_alone(leg: Leg) -> list[str]:
    """Return the shapes whose cases have no twin on memory, but for those of rows."""
    of_memory = leg.of_memory()
    return sorted(
        shape
        for shape, tests in leg.sent.items()
        if not tests & of_memory and not any(OF_ROWS.match(test) for test in tests)
    )


def write(legs: Sequence[Leg]) -> None:
    """Write the list: what the legs sent."""
    known = {each for leg in legs for each in leg.sent}
    shapes.LISTED.write_text(json.dumps(sorted(known), indent=1, ensure_ascii=False) + "\n")


def note(legs: Sequence[Leg], missing: Sequence[str]) -> str:
    """Return the sentence below the table."""
    of_memory = legs[0].of_memory()
    on_memory = sum(bool(tests & of_memory) for tests in legs[0].sent.values())
    total = len(shapes.listed())
    lacking = (
        f"{len(missing)} differences" if missing else "each whole engine was sent all of them and no others"
    )
    return (
        f"Production code sends {total} distinct operations with their expressions; {lacking}. "
        f"{on_memory} of them are sent by cases that run on the store in memory too, the others by cases of"
        " stored rows."
    )


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{wide}}" for cell, wide in zip(line, widths, strict=True)) for line in lines
    )


if __name__ == "__main__":
    ended(main)
