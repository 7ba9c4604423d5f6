"""``python -m fanin_conformance --url URL``: judges a tracker, and exits with 1 if a case fails."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from math import inf, nan

from fanin.errors import FaninError
from fanin_conformance.adapter import Adapter, Unreachable
from fanin_conformance.cases import CASES, Case
from fanin_conformance.judging import Judgement, judge
from fanin_conformance.reporting import counted, json_of, line_of, listed, summary_of
from fanin_conformance.trial import Effort

FANIN = "fanin_conformance.over_http:FaninOverHttp"
FULL_ROUNDS = 10_000
FULL_ITEMS = 10_000_000
INTERRUPTED = 130
WANTED = "give module:Class, a class of fanin_conformance.Adapter"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its code: 0 passed, 1 a case failed, 2 invalid or no answer, 130 Ctrl-C."""
    parser = _parser()
    given = parser.parse_args(arguments)
    cases = cases_of(parser, given.cases)
    if given.list:
        sys.stdout.write(f"{listed(cases)}\n")
        return 0
    effort = Effort(given.rounds, given.items, given.timeout)
    tracker = _tracker(parser, given.adapter, given.url)
    try:
        tracker.reach()
    except Unreachable as error:
        parser.error(f"{given.url} gives no answer: {error}; check the URL, and that the tracker is running")
    print_row = (lambda _: None) if given.json else _print_row
    if not given.json:
        _say(
            f"{counted(cases)}, {effort.rounds:,} rounds of each race (all: {FULL_ROUNDS:,}),"
            f" {effort.items:,} items of a large batch (all: {FULL_ITEMS:,})"
        )
    try:
        found = judge(tracker, cases, effort, print_row)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the batches that were opened stay until their retention ends\n")
        return INTERRUPTED
    _say(json_of(found, effort.rounds, effort.items) if given.json else summary_of(found))
    return 1 if any(each.is_bad for each in found) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fanin_conformance", description="Judge a tracker of batches by black-box cases."
    )
    usual = Effort()
    parser.add_argument("--url", default=os.environ.get("FANIN_URL"), help="the tracker's URL; FANIN_URL")
    parser.add_argument("--adapter", default=FANIN, metavar="MODULE:CLASS", help="called with the URL")
    parser.add_argument("--cases", metavar="T1,T9", help="only these")
    parser.add_argument("--rounds", type=_count, default=usual.rounds, help="of each race")
    parser.add_argument("--items", type=_count, default=usual.items, help="of T31 and T37")
    parser.add_argument(
        "--timeout", type=_seconds, default=usual.timeout, metavar="SECONDS", help="of a case"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--list", action="store_true", help="print the cases and run none")
    return parser


def _count(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(digits)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = nan
    if not 0 < seconds < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def cases_of(parser: argparse.ArgumentParser, wanted: str | None) -> list[Case]:
    """Return the wanted cases in order, or all if none is named; exit with 2 for an unknown id."""
    ids = list(dict.fromkeys(each.strip().upper() for each in wanted.split(","))) if wanted else list(CASES)
    if unknown := [each for each in ids if each not in CASES]:
        parser.error(f"there is no case {unknown[0]!r}; the cases are {', '.join(CASES)}")
    return [CASES[each] for each in ids]


def _tracker(parser: argparse.ArgumentParser, adapter: str, url: str | None) -> Adapter:
    """Return the adapter; exit with 2 if it is not found, or has no URL to work with."""
    module, _, name = adapter.partition(":")
    if adapter == FANIN and not url:
        parser.error("give --url, or FANIN_URL; `fanin local up` prints the URL of a local run")
    try:
        created: Adapter = getattr(importlib.import_module(module), name)(url)
    except FaninError as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        if error.name and not module.startswith(error.name):
            parser.error(f"--adapter {adapter}: {module} imports {error.name}, which is not installed")
        parser.error(f"--adapter {adapter}: {error}; {WANTED}, from a folder of PYTHONPATH or this one")
    except (ImportError, SyntaxError, AttributeError, TypeError, ValueError) as error:
        parser.error(f"--adapter {adapter}: {error}; {WANTED}")
    if not isinstance(created, Adapter):
        parser.error(f"--adapter {adapter} is none; {WANTED}")
    return created


def _print_row(judgement: Judgement) -> None:
    _say(line_of(judgement))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
