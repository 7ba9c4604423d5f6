"""The rules of the soak: pure, over the ledger and what was read at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanin import names
from tests.soak.load.ledger import Expected, Ledger

EVENT_OF = {
    "COMPLETE": "BatchCompleted",
    "CANCELLED": "BatchCancelled",
    "TIMED_OUT": "BatchTimedOut",
    "EXPIRED": "BatchExpired",
}
METRIC_OF = {
    "COMPLETE": names.BATCHES_COMPLETED,
    "CANCELLED": names.BATCHES_CANCELLED,
    "TIMED_OUT": names.BATCHES_TIMED_OUT,
    "EXPIRED": names.BATCHES_EXPIRED,
}
GROWTH_MAX = 0.10
"""Of the memory, over the last two thirds of a run; and so many MB in any case."""
GROWTH_MB = 15.0
ENDED = "ended batches"
"""The doubt of the metrics in METRIC_OF."""
ENDED_JOBS = ("queued", "inProgress", "delayed", "dead")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table: what has to hold, what was seen, and the first things that broke it."""

    name: str
    checked: int
    broken: tuple[str, ...] = ()
    figure: str = ""

    @property
    def holds(self) -> bool:
        return not self.broken

    @property
    def seen(self) -> str:
        text = f"{self.checked:,} checked" + (f", {self.figure}" if self.figure else "")
        return text if self.holds else f"{text}, {len(self.broken)} broken: {'; '.join(self.broken[:3])}"


def states(expected: Mapping[str, Expected], found: Mapping[str, Row | None]) -> Rule:
    """Every batch has the state, the result, the total and the failures that the load made."""
    broken = []
    for batch, wanted in expected.items():
        row = found.get(batch)
        if wanted.state == "EXPIRED":
            if row is not None:
                broken.append(f"{wanted.kind} {batch}: {row['state']}, not gone")
        elif row is None:
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
        found["acked"], right["acked"] = row["progress"]["acked"], wanted.enough or wanted.total
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


def results(
    expected: Mapping[str, Expected], found: Mapping[str, Sequence[Sequence[tuple[str, Any]]]]
) -> Rule:
    """Each item that was acked with a result has exactly one of its own, and the same at every read."""
    broken = []
    for batch, reads in found.items():
        first, *others = map(list, reads)
        if [other for other in others if other != first]:
            broken.append(f"{batch}: two reads differ")
        if Counter(item for item, _ in first) != Counter(expected[batch].items_with_results):
            broken.append(f"{batch}: {len(first)} results, not {len(expected[batch].items_with_results)}")
        broken += [f"{batch}: {item} has {value}" for item, value in first if value["item"] != item]
    return Rule("each succeeded item has its one result at every read", len(found), tuple(broken))


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


def jobs(
    accepted: Counter[str], written: Sequence[tuple[str, str, int]], unfinished: Mapping[str, int]
) -> Rule:
    """Every accepted job has one outcome, written once, and no job is left."""
    acked: Counter[str] = Counter()
    for key, _, times in written:
        acked[key] += times
    odd = [key for key in accepted.keys() | acked.keys() if accepted[key] != acked[key]]
    broken = [f"{key}: accepted {accepted[key]}, done {acked[key]}" for key in odd]
    broken += [f"{unfinished[state]} {state}" for state in ENDED_JOBS if unfinished[state]]
    return Rule("every job was done once, and none is left", accepted.total(), tuple(broken))


def dead_letter_messages(poison: Iterable[str], found: Mapping[str, Sequence[str]]) -> Rule:
    """The dead-letter queue of the consumers has the poison, once each, and the others are empty."""
    wanted = Counter(poison)
    broken = []
    for queue, bodies in found.items():
        here = Counter(bodies)
        right = wanted if queue == "consumers" else Counter[str]()
        broken += [f"{queue}: {body} is too much" for body in (here - right)]
        broken += [f"{queue}: {body} is missing" for body in (right - here)]
    return Rule("dead-letter queues have exactly the poison", wanted.total(), tuple(broken))


def rows(found: Mapping[str, Sequence[Row]], expected: Mapping[str, Expected], now: float) -> Rule:
    """No row of a live batch is past its time to live, and each row of a batch has one.

    A row whose time has passed belongs to an ended batch: DynamoDB may delete it.
    """
    broken, checked = [], 0
    for row in found.get("batches", ()):
        checked += 1
        if "ttl" not in row:
            broken.append(f"{row['pk']} {row['sk']}: no time to live")
        elif float(row["ttl"]) <= now and row.get("state") in ("OPEN", "CLOSED"):
            broken.append(f"{row['pk']} {row['sk']}: {row['state']}, and its time has passed")
    for row in found.get("pages", ()):
        checked += 1
        if "ttl" not in row:
            broken.append(f"{row['pk']} {row.get('sk', '')}: no time to live")
    live = sum(wanted.state in ("OPEN", "CLOSED") for wanted in expected.values())
    broken += [f"{live} batches were left open by the load"] * bool(live)
    return Rule("no row is orphaned", checked, tuple(broken))


def metrics(counts: Mapping[str, int], found: Mapping[str, int], doubts: Mapping[str, int]) -> Rule:
    """Each metric of the logs is what the load counted, but for *doubts*.

    A request that is sent again may have been counted each time, or not at all; the ended batches
    of a delivery that is repeated are counted again.
    """
    of_ends = set(METRIC_OF.values())
    broken = [
        f"{name}: logged {found.get(name, 0):,}, counted {count:,}, {allowed:,} allowed"
        for name, count in counts.items()
        if abs(found.get(name, 0) - count) > (allowed := doubts.get(ENDED if name in of_ends else name, 0))
    ]
    logged = {name: found.get(name, 0) for name in counts}
    exact = sum(logged[name] == count for name, count in counts.items())
    off = sum(abs(logged[name] - count) for name, count in counts.items())
    figure = f"{exact} equal, {off:,} of {sum(counts.values()):,} off in the others"
    return Rule("metrics add up, but for what was repeated", len(counts), tuple(broken), figure)


def memory(name: str, series: Sequence[tuple[float, float]]) -> Rule:
    """The memory does not grow: the line through the last two thirds of *series*, (seconds, MB), is flat."""
    what, last = f"memory of {name} is flat", series[len(series) // 3 :]
    if len(last) < 3:
        return Rule(what, len(series), ("too few samples",))
    minutes = (last[-1][0] - last[0][0]) / 60
    growth = slope(last) * minutes * 60
    allowed = max(GROWTH_MB, GROWTH_MAX * last[0][1])
    figure = f"{growth:+.1f} MB by least squares over the last {minutes:.0f} minutes, {allowed:.0f} allowed"
    return Rule(what, len(series), () if growth <= allowed else ("it grows",), figure)


def spark(ledger: Ledger) -> Rule:
    """What bulk_ack folded and what reconcile found is what the ack log had."""
    rounds = [what for what in ledger.chaos if what.startswith("Spark round")]
    broken = ledger.folds if rounds else ["no Spark job ran"]
    return Rule("Spark folds and finds what the log has", len(rounds), tuple(broken), "; ".join(rounds))


def slope(series: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line of least squares."""
    count = len(series)
    mean_x = sum(x for x, _ in series) / count
    mean_y = sum(y for _, y in series) / count
    below = sum((x - mean_x) ** 2 for x, _ in series)
    return sum((x - mean_x) * (y - mean_y) for x, y in series) / below if below else 0.0


def errors(ledger: Ledger) -> Rule:
    """No thread of the load met an error that its retries did not cure."""
    return Rule("no request failed for good", sum(ledger.counts.values()), tuple(ledger.errors))
