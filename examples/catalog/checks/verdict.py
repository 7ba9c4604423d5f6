"""Compares the result of a run with the expectation. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.catalog.checks.expectation import Expectation
from fanin.client.model import Status

NAMED = 3
"""Missing or unexpected packages that are named; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run: the batch, the keys in the index, the details of its distinct events.

    *called*: the number of successful calls of the batch API per package; *jobs*: jobs with an outcome.
    """

    status: Status
    indexed: Collection[str]
    details: Sequence[Mapping[str, Any]]
    dead_letter_messages: int
    called: Mapping[str, int]
    jobs: int = 0


def differences(expected: Expectation, result: Result) -> list[str]:
    """Return the differences of *result* from *expected*, one line each."""
    return [
        *_in_batch(expected, result.status),
        *_in_index(expected.keys, frozenset(result.indexed)),
        *_in_calls(expected.bundled, result.called),
        *_in_jobs(sum(expected.queued.values()), result.jobs),
        *_in_events(expected, result.details),
        *([f"{result.dead_letter_messages} dead-letter messages"] if result.dead_letter_messages else []),
    ]


def _in_batch(expected: Expectation, status: Status) -> Iterator[str]:
    facts = {
        "state": status.state.value,
        "result": status.result,
        "total": status.total,
        "acked": status.acked,
    }
    yield from _compared(
        "the batch's", facts, _promised(expected) | {"state": "COMPLETE", "acked": expected.items}
    )


def _in_events(expected: Expectation, details: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(details) != 1:
        yield f"{len(details)} distinct completion events came, not one"
    for detail in details:
        yield from _compared("the event's", detail, _promised(expected))


def _in_index(expected: frozenset[str], indexed: frozenset[str]) -> Iterator[str]:
    yield from _named("missing from the index", expected - indexed)
    yield from _named("strange to the index", indexed - expected)


def _in_calls(expected: Mapping[str, int], called: Mapping[str, int]) -> Iterator[str]:
    """Check that each bundled item is in exactly one successful call, because none of them fails."""
    less = {key for key, count in expected.items() if called.get(key, 0) < count}
    more = {key for key, count in called.items() if count > expected.get(key, 0)}
    yield from _named("in no successful call of the batch API", less)
    yield from _named("in more successful calls of the batch API than one", more)


def _in_jobs(expected: int, finished: int) -> Iterator[str]:
    if finished != expected:
        yield f"{finished:,} jobs have an outcome, not {expected:,}"


def _named(fault: str, keys: Collection[str]) -> Iterator[str]:
    if keys:
        more = f" and {len(keys) - NAMED:,} more" if len(keys) > NAMED else ""
        yield f"{len(keys):,} packages are {fault}: {', '.join(sorted(keys)[:NAMED])}{more}"


def _promised(expected: Expectation) -> dict[str, Any]:
    return {"result": "succeeded", "total": expected.items}


def _compared(whose: str, facts: Mapping[str, Any], promised: Mapping[str, Any]) -> Iterator[str]:
    for name, value in promised.items():
        if facts.get(name) != value:
            yield f"{whose} {name} is {facts.get(name)}, not {value}"
