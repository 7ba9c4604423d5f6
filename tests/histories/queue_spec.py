"""What the job of a key is, one request at a time: it waits, is claimed, comes back, or is acked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.histories.history import UNKNOWN, Operation

ACCEPTED, REJECTED = "accepted", "rejected"
ACKED, LOST = "acked", "lost claim"


@dataclass(frozen=True, slots=True)
class Key:
    """*payload*: of the live job, None without one. *claim*: of a busy one."""

    payload: str | None = None
    claim: str | None = None
    deliveries: int = 0
    failures: int = 0

    @property
    def waits(self) -> bool:
        return self.payload is not None and self.claim is None


def step(key: Key, operation: Operation) -> Iterator[Key]:
    """Yield the key after an operation; see ``Step``."""
    yield from STEPS[operation.name](key, operation.answer, *operation.args)


def _add(key: Key, answer: object, payload: str) -> Iterator[Key]:
    """A key has one live job at a time."""
    if key.payload is None and answer in (ACCEPTED, UNKNOWN):
        yield Key(payload)
    elif key.payload is not None and answer in (REJECTED, UNKNOWN):
        yield key


def _claim(key: Key, answer: object, claim: str) -> Iterator[Key]:
    """A job that waits is claimed once; *answer*: its payload, and how often it was claimed and failed."""
    after = replace(key, claim=claim, deliveries=key.deliveries + 1)
    if key.waits and answer in ((after.payload, after.deliveries, after.failures), UNKNOWN):
        yield after


def _give_back(key: Key, answer: object, claim: str, failed: bool) -> Iterator[Key]:
    """A claim that holds is given back; *answer*: whether it held."""
    after = replace(key, claim=None, failures=key.failures + failed)
    if key.claim == claim and answer in (True, UNKNOWN):
        yield after
    if key.claim != claim and answer in (False, UNKNOWN):
        yield key


def _ack(key: Key, answer: object, claim: str, asked: bool = True) -> Iterator[Key]:
    """A claim that holds ends its job; one that is lost changes nothing.

    *asked*: whether the store was asked. A session that got no answers to its heartbeats gives up its claims
    before others free them.
    """
    if key.claim == claim and answer in (ACKED, UNKNOWN):
        yield Key()
    if (key.claim != claim or not asked) and answer in (LOST, UNKNOWN):
        yield key


STEPS = {"add": _add, "claim": _claim, "give_back": _give_back, "ack": _ack}
