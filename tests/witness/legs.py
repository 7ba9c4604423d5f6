"""One run of the contract suites on an engine, and what differs between two. Pure but for its constant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from tests.request_rules.shapes import ROOT, Sent

BUILD = ROOT / "build" / "witness"
PARTIAL = ("dynalite",)
ENGINES_OF_CASES = re.compile(r"\[(memory|fake)[-\]]")


@dataclass(frozen=True)
class Leg:
    """The outcomes of the cases on one engine by their names, and the shapes of requests that were sent."""

    engine: str
    outcomes: dict[str, str]
    memory: dict[str, str]
    sent: Sent

    @property
    def is_partial(self) -> bool:
        """Return whether the engine lacks what AWS has."""
        return self.engine in PARTIAL

    @property
    def failed(self) -> list[str]:
        """Return the cases that failed."""
        return [name for name, each in (self.outcomes | self.memory).items() if each == "failed"]

    def of_memory(self) -> set[str]:
        """Return the tests that passed on memory, as pytest names them, without parameters."""
        passed = [name for name, each in self.memory.items() if each == "passed"]
        return {_as_pytest_names(name.partition("[")[0]) for name in passed}


def _as_pytest_names(name: str) -> str:
    module, _, test = name.rpartition(".")
    return f"{module.replace('.', '/')}.py::{test}"


def read(engine: str, report: str, sent: Sent) -> Leg:
    """Return the leg of a report in JUnit's XML."""
    outcomes: dict[str, str] = {}
    memory: dict[str, str] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        name = f"{case.get('classname')}.{case.get('name')}"
        found = {each.tag for each in case}
        outcome = "failed" if found & {"failure", "error"} else "skipped" if "skipped" in found else "passed"
        (memory if ENGINES_OF_CASES.search(name) else outcomes)[name] = outcome
    return Leg(engine, outcomes, memory, sent)


def differences(one: dict[str, str], other: dict[str, str], is_partial: bool = False) -> list[str]:
    """Return the cases whose outcomes differ, or that ran on one of the engines alone.

    *is_partial*: the other engine lacks what AWS has, so a case that it skips is no difference.
    """
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return [name for name in names if not (is_partial and other.get(name) == "skipped")]


def rows(legs: Sequence[Leg]) -> list[list[str]]:
    """Return a row for memory and for each engine; differences are from the first engine."""
    first = legs[0].outcomes
    found = [_row("memory", legs[0].memory, "", 0)] if legs[0].memory else []
    for leg in legs:
        differing = len(differences(first, leg.outcomes, leg.is_partial))
        found.append(_row(leg.engine, leg.outcomes, str(len(leg.sent)), differing))
    return found


def _row(engine: str, found: dict[str, str], sent: str, differing: int) -> list[str]:
    counts = [sum(each == outcome for each in found.values()) for outcome in ("passed", "skipped", "failed")]
    return [engine, str(len(found)), *map(str, counts), sent, str(differing)]
