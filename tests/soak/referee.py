"""The rules of the schedules: pure, over the ledger and what was read at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.soak.load.ledger import Expected, Ledger

EVENT_OF = {
    "COMPLETE": "BatchCompleted",
    "CANCELLED": "BatchCancelled",
}
ENDED_JOBS = ("queued", "inProgress", "delayed", "dead")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table: what has to hold, what was seen, and the first things that broke it."""

    name: str
    checked: int
    broken: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.broken

    @property
    def seen(self) -> str:
        text = f"{self.checked:,} checked"
        return text if self.holds else f"{text}, {len(self.broken)} broken: {'; '.join(self.broken[:3])}"


def states(expected: Mapping[str, Expected], found: Mapping[str, Row | None]) -> Rule:
    """Every batch has the state, the result, the total and the failures that the load made."""
    broken = []
    for batch, wanted in expected.items():
        row = found.get(batch)
        if row is None:
            broken.append(f"{wanted.kind} {batch}: gone")
        elif odd := _odd(wanted, row):
            broken.append(f"{wanted.kind} {batch}: {odd}")
    return Rule("every batch ended in the right state, with the right counts", len(expected), tuple(broken))


def _odd(wanted: Expected, row: Row) -> str:
    found = {"state": row["state"], "total": row["total"]}
    right: dict[str, Any] = {"state": wanted.state, "total": wanted.total}
    if wanted.state == "COMPLETE":
        found |= {"result": row.get("result"), "failed": row["progress"]["failed"]}
        right |= {"result": wanted.result, "failed": wanted.failed}
        found["acked"], right["acked"] = row["progress"]["acked"], wanted.total
    odd = [name for name in right if found[name] != right[name]]
    return ", ".join(f"{name} {found[name]}, not {right[name]}" for name in odd)


def events(expected: Mapping[str, Expected], found: Mapping[str, Sequence[Row]]) -> Rule:
    """Every batch has one event of its end: copies of it have its id."""
    broken = []
    for batch, wanted in expected.items():
        copies = {each["eventId"]: each["kind"] for each in found.get(batch, ())}
        kinds = sorted(copies.values())
        if kinds != [EVENT_OF[wanted.state]]:
            broken.append(f"{wanted.kind} {batch}: {kinds}, not {EVENT_OF[wanted.state]}")
    return Rule("every batch has exactly one event of its end", len(expected), tuple(broken))


def lists(expected: Mapping[str, Expected], found: Mapping[str, set[str]]) -> Rule:
    """The list of failures has the items that failed."""
    broken = [
        f"{batch}: failed {sorted(items)}, not {sorted(expected[batch].failed_items or ())}"
        for batch, items in found.items()
        if items != expected[batch].failed_items
    ]
    return Rule("lists of failed items are exact", len(found), tuple(broken))


def answers(total: int, odd: Sequence[str]) -> Rule:
    """Each answer of the API is in docs/openapi.json."""
    return Rule("every answer is documented", total, tuple(odd))


def reports(ledger: Ledger) -> Rule:
    """No completion is reported by two answers, nor for a batch that did not complete."""
    broken = [
        f"{batch}: reported {times} times, {ledger.batches[batch].state if batch in ledger.batches else '?'}"
        for batch, times in ledger.reported.items()
        if times > 1 or batch not in ledger.batches or ledger.batches[batch].state != "COMPLETE"
    ]
    return Rule("no completion is reported to two callers", sum(ledger.reported.values()), tuple(broken))


def tasks(registered: Mapping[str, str], odd: Mapping[str, str], found: Mapping[str, Row]) -> Rule:
    """Every task has ended, and its call was made once if it succeeded, and never if it did not."""
    lost = [f"{name}: not found" for name in registered if name not in found]
    broken = [*lost, *(f"{name}: {why}" for name, why in odd.items())]
    return Rule("every task ended once, and was done once", len(registered), tuple(broken))


def jobs(accepted: Counter[str], written: Sequence[tuple[str, str, int]], left: Mapping[str, int]) -> Rule:
    """Every accepted job has one outcome, written once, and no job is left."""
    done: Counter[str] = Counter()
    for key, _, times in written:
        done[key] += times
    odd = [key for key in accepted.keys() | done.keys() if accepted[key] != done[key]]
    broken = [f"{key}: accepted {accepted[key]}, done {done[key]}" for key in odd]
    broken += [f"{left[state]} {state}" for state in ENDED_JOBS if left[state]]
    return Rule("every job was done once, and none is left", accepted.total(), tuple(broken))


def errors(ledger: Ledger) -> Rule:
    """No thread of the load met an error that its retries did not cure."""
    return Rule("no request failed for good", len(ledger.batches), tuple(ledger.errors))
