"""Records histories of many seeds, and checks each: ``python -m tests.histories.run --of tracker``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from tests.histories import grouper, queue, tracker
from tests.histories.checker import check
from tests.histories.model import Recorded
from tests.simulating.room import Outcome
from tests.simulating.run import run_seeds

RECORDERS: dict[str, Callable[..., Recorded]] = {
    "tracker": tracker.record,
    "grouper": grouper.record,
    "queue": queue.record,
}


def judge(of: str, seed: int) -> Outcome:
    """Record the history of a seed, and check it."""
    return RECORDERS[of](seed).judged()


def main(argv: list[str] | None = None) -> int:
    """Return 0 if every history has an order, 1 if one has none."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories.run", description=__doc__)
    parser.add_argument("--of", choices=RECORDERS, default="tracker", help="whose histories")
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one")
    parser.add_argument("--replay", type=int, metavar="SEED", help="show this history")
    wanted = parser.parse_args(argv)
    if wanted.replay is not None:
        return _replay(wanted.of, wanted.replay)
    tally = run_seeds(partial(judge, wanted.of), range(wanted.first, wanted.first + wanted.seeds))
    for seed, _, text in tally.violations:
        print(f"seed {seed}: {text}\n  python -m tests.histories.run --of {wanted.of} --replay {seed}")
    broken, faults = len(tally.violations), tally.faults.total()
    print(f"{tally.seeds:,} histories, {faults:,} faults, {broken} without an order")
    return 1 if tally.violations else 0


def _replay(of: str, seed: int) -> int:
    """Show the operations on each object without an order, or on all, and the longest order of them."""
    recorded = RECORDERS[of](seed)
    found = {
        key: check(operations, recorded.initial(key), recorded.step, recorded.reads)
        for key, operations in recorded.recorder.objects.items()
    }
    broken = [key for key, each in found.items() if not each.right]
    for key in broken or found:
        print(f"{key}\n{recorded.recorder.shown(key)}\nin order:")
        print(*found[key].order, sep="\n")
    print(f"seed {seed}: {recorded.outcome.violation or 'no violation'}; {len(broken)} without an order")
    return 1 if broken or recorded.outcome.violation else 0


if __name__ == "__main__":
    sys.exit(main())
