"""``make test-versions``: installs each part's lowest and newest versions and runs its tests on them."""

from __future__ import annotations

import argparse
import sys
import time

from packaging.requirements import Requirement

from tests.versions.environments import PARTS, RESOLUTION, Environment, run


def main() -> int:
    """Run the tests of the chosen environments and return 1 if one of them failed."""
    options = _options()
    failed = False
    for part in options.part or PARTS:
        for end in options.end or RESOLUTION:
            python = options.newest_python if end == "newest" else sys.executable
            failed |= _fails(Environment(part, end, python), options.workers, options.pytest)
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--end", action="append", choices=list(RESOLUTION))
    parser.add_argument(
        "--newest-python", default=sys.executable, metavar="PATH", help="The Python of the newest versions."
    )
    parser.add_argument("--workers", default="2", help="Processes that share the tests.")
    parser.add_argument("pytest", nargs="*", help="What pytest runs in place of the tests of the part.")
    return parser.parse_args()


def _fails(environment: Environment, workers: str, tests: list[str]) -> bool:
    started = time.monotonic()
    versions = environment.install()
    rooms = [f"tests/{room}" for room in PARTS[environment.part].rooms]
    names = [Requirement(line).name for line in environment.requirements()]
    ranges = ", ".join(f"{name} {versions[name]}" for name in names)
    python = run(environment.interpreter, "-V").strip()
    print(f"{environment.part}, {environment.end}: {python}, {ranges}", flush=True)
    completed = environment.test("-n", workers, *(tests or rooms))
    lines = completed.stdout.rstrip().splitlines()
    print("\n".join(lines[-1:] if completed.returncode == 0 else lines[-200:]), completed.stderr, flush=True)
    print(f"  {time.monotonic() - started:.0f} s", flush=True)
    return completed.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
