"""``python -m tests.witness``: the contract suites on each engine, compared case by case.

The cases on memory run beside those on moto. Of each engine the distinct shapes of requests are compared with
those that the whole suite sends: ``tests/contract/expressions.json``, and what later runs of tests noted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence

from tests.proof import results
from tests.request_rules import shapes
from tests.witness.legs import BUILD, Leg, read, rows

COMMAND = "make witness"
COLUMNS = ("suite", "engine", "cases", "passed", "skipped", "failed", "expressions", "differences")
MEMORY = "memory or fake"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the legs, print the table and keep it; return 1 if engines differ or an expression was not sent."""
    parser = argparse.ArgumentParser(prog="python -m tests.witness", description=__doc__)
    parser.add_argument(
        "--engines", default="moto,emulator", help="of --endpoint: moto, emulator, a URL, aws"
    )
    parser.add_argument("--write", action="store_true", help="write tests/contract/expressions.json anew")
    parser.add_argument("tests", nargs="*", default=["tests/contract"], help="files of tests/contract")
    options = parser.parse_args(arguments)
    engines = options.engines.split(",")
    legs = [run(engine, options.tests, with_memory=engine == engines[0]) for engine in engines]
    table = rows(legs)
    whole = options.tests == ["tests/contract"]
    missing = missed(legs) if whole else []
    print(_table([COLUMNS, *table]))
    print(*missing, sep="\n")
    if whole:
        results.keep("witness", COMMAND, COLUMNS, table, note(legs, missing))
    if options.write:
        write(legs)
    wrong = any(leg.failed for leg in legs) or any(row[-1] != "0" for row in table)
    return int(wrong or bool(missing and not options.write))


def run(engine: str, tests: Sequence[str], with_memory: bool) -> Leg:
    """Run the suites on *engine* in a process of its own."""
    BUILD.mkdir(parents=True, exist_ok=True)
    name = engine.partition(":")[0]
    report = BUILD / f"{name}.xml"
    noted = shapes.FOUND / f"{name}-main.json"
    noted.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *tests, "-q", "-n", "0", "--endpoint", engine]
    command += ["--junitxml", str(report), "-p", "no:cacheprovider"]
    command += [] if with_memory else ["-k", f"not ({MEMORY})"]
    done = subprocess.run(command, cwd=shapes.ROOT, capture_output=True, text=True, check=False)
    if not report.exists() or done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    sent = set(json.loads(noted.read_text())) if noted.exists() else set()
    return read(name, report.read_text(), sent)


def missed(legs: Sequence[Leg]) -> list[str]:
    """Return what production code sends in any test, and no case sent on one of the engines."""
    needed = shapes.listed() | shapes.kept("suite")
    return [f"not sent on {leg.engine}: {each}" for leg in legs for each in sorted(needed - leg.sent)]


def write(legs: Sequence[Leg]) -> None:
    """Write the list: what the last runs of the tests noted, and what the legs sent."""
    known = shapes.kept("suite") | {each for leg in legs for each in leg.sent}
    shapes.LISTED.write_text(json.dumps(sorted(known), indent=1, ensure_ascii=False) + "\n")


def note(legs: Sequence[Leg], missing: Sequence[str]) -> str:
    """Return the sentence below the table."""
    total = len(shapes.listed())
    lacking = (
        f"{len(missing)} are not sent by an engine's cases" if missing else "each engine's cases send all"
    )
    return f"The tests send {total} distinct operations with their expressions; {lacking}."


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{wide}}" for cell, wide in zip(line, widths, strict=True)) for line in lines
    )


if __name__ == "__main__":
    sys.exit(main())
