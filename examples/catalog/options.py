"""Parses the options of `make demo ARGS="..."`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.catalog.checks import expectation
from examples.catalog.system import bundles
from fanin.grouper.rules.ids import TARGET_FORM
from pipeline.shared_by_jobs import datasets

DEFAULT_ITEMS = 20_480
"""Twenty full pages of the tracker."""

BUNDLED = "games,science,sound,x11"
"""1,923 of the default items, a tenth: a task needs about ten times the emulator's requests of an ack."""
QUEUED = "editors,mail"
"""359 of the default items."""

FAIL_PERCENT = 3
DUPLICATE_PERCENT = 3.0


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run; *items* is None for the whole dataset.

    *bundled*: sections for the batch API; *queued*: sections for the work queue.
    """

    dataset: Path
    items: int | None
    bundled: frozenset[str]
    queued: frozenset[str]
    chaos: bool
    seed: int
    out: Path

    @property
    def fail_percent(self) -> int:
        """Percent of items that fail on purpose on their first delivery."""
        return FAIL_PERCENT if self.chaos else 0

    @property
    def duplicate_percent(self) -> float:
        """Items that are sent twice."""
        return DUPLICATE_PERCENT if self.chaos else 0.0

    @property
    def lose_every(self) -> int:
        """Of so many bundles the batch API's answer is lost once; 0 is never."""
        return bundles.LOSE_EVERY if self.chaos else 0


def parse(argv: Sequence[str] | None) -> Options:
    """Parse *argv*; exit with a message for an invalid option."""
    parser = _parser()
    given = parser.parse_args(argv)
    if given.items is not None and given.items < 1:
        parser.error(f"--items is {given.items}; it is how many packages to fan out, at least 1")
    bundled, queued = (_sections(parser, given, name) for name in ("bundled", "queued"))
    if both := sorted(bundled & queued):
        parser.error(f"--queued {both[0]}: the packages of this section are bundled; name it once")
    problem = expectation.problem_of(given.dataset)
    if problem:
        parser.error(problem)
    return Options(
        given.dataset.resolve(), _items(given), bundled, queued, given.chaos, given.seed, given.out
    )


def _sections(parser: argparse.ArgumentParser, given: argparse.Namespace, name: str) -> frozenset[str]:
    sections = frozenset(getattr(given, name).split(",")) - {""}
    if wrong := sorted(each for each in sections if not TARGET_FORM.fullmatch(each)):
        parser.error(f"--{name} {wrong[0]}: a section takes a-z, A-Z, 0-9, '.', '_' and '-'")
    return sections


def _items(given: argparse.Namespace) -> int | None:
    if given.whole:
        return None
    # A dataset of the user is used whole unless --items is given.
    default = DEFAULT_ITEMS if given.dataset == datasets.CATALOG else None
    return default if given.items is None else int(given.items)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("examples.catalog", description=__doc__, allow_abbrev=False)
    _add_extent(parser)
    parser.add_argument(
        "--bundled",
        default=BUNDLED,
        metavar="SECTIONS",
        help=f"packages of these sections go to a batch API in bundles (default: {BUNDLED}; '' for none)",
    )
    parser.add_argument(
        "--queued",
        default=QUEUED,
        metavar="SECTIONS",
        help=f"packages of these sections become jobs of the work queue (default: {QUEUED}; '' for none)",
    )
    parser.add_argument(
        "--chaos",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"send {DUPLICATE_PERCENT:g} %% of the items twice, fail {FAIL_PERCENT} %% once, and lose the "
        f"batch API's answer for every {bundles.LOSE_EVERY}th bundle (default)",
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses the items that chaos befalls")
    parser.add_argument(
        "--out", type=Path, default=Path("build/demo"), metavar="DIR", help="where report and picture go"
    )
    return parser


def _add_extent(parser: argparse.ArgumentParser) -> None:
    """Add the options for the dataset and its size."""
    many = parser.add_mutually_exclusive_group()
    many.add_argument(
        "--items", type=int, metavar="N", help=f"the first N packages (default: {DEFAULT_ITEMS})"
    )
    many.add_argument(
        "--whole", action="store_true", help="the whole dataset (the catalog has 63,440 packages)"
    )
    parser.add_argument(
        "--dataset",
        type=Path,
        default=datasets.CATALOG,
        metavar="PATH",
        help="another catalog of packages: JSON lines, uncompressed, .gz or .bz2",
    )
