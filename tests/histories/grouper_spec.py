"""What a lease, a bundle and a task of the group-batcher are, one request at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fanin.grouper import Bundle, BundleState, Lease, Task, TaskState
from fanin.grouper.store import Claim
from tests.histories.history import UNKNOWN, Operation

READS = frozenset({"lease", "bundle", "task", "notified"})


@dataclass(frozen=True, slots=True)
class Called:
    """A bundle, the attempts that were begun, and those of them that the batch API was called in."""

    bundle: Bundle | None = None
    begun: frozenset[int] = frozenset()
    calls: frozenset[int] = frozenset()


def step(state: object, operation: Operation) -> Iterator[object]:
    """Yield the object after an operation; see ``Step``."""
    yield from STEPS[operation.name](state, operation.answer, *operation.args)


def _read(state: object, answer: object) -> Iterator[object]:
    if answer == state:
        yield state


def _put_lease(state: Lease | None, answer: object, seen: Lease | None, wanted: Lease) -> Iterator[object]:
    """The lease changes hands if fence and holder are those that were seen."""
    after = wanted if _term(state) == _term(seen) else state
    if answer in (after, UNKNOWN):
        yield after


def _term(lease: Lease | None) -> tuple[int, str | None]:
    return (lease.fence, lease.holder) if lease else (0, None)


def _bundle(state: Called, answer: object) -> Iterator[object]:
    if answer == state.bundle:
        yield state


def _claim(state: Called, answer: Claim, wanted: Bundle) -> Iterator[object]:
    """All or nothing: the bundle gets its next version and all new members, or stays as it is."""
    is_next = _is_next(state.bundle, wanted)
    if answer is UNKNOWN:
        yield state
    if is_next and (answer is UNKNOWN or (answer.bundle == wanted and not answer.refused)):
        yield replace(state, bundle=wanted)
    if answer is not UNKNOWN and answer.bundle == state.bundle and (answer.refused or not is_next):
        yield state


def _is_next(stored: Bundle | None, wanted: Bundle) -> bool:
    if stored is None:
        return wanted.version == 1
    return stored.state is BundleState.OPEN and stored.version == wanted.version - 1


def _seal(state: Called, answer: object, bundle: Bundle) -> Iterator[object]:
    after = state.bundle
    if after is None:
        after = replace(bundle, members=(), version=1, state=BundleState.READY)
    elif after.state is BundleState.OPEN:
        after = replace(after, version=after.version + 1, state=BundleState.READY)
    if answer in (after, UNKNOWN):
        yield replace(state, bundle=after)


def _replace_bundle(state: Called, answer: object, wanted: Bundle) -> Iterator[object]:
    """The version after the stored one takes its place; members stay."""
    if state.bundle is not None and state.bundle.version == wanted.version - 1:
        begun = {wanted.attempt} if wanted.state is BundleState.CALLING else set()
        state = replace(
            state, bundle=replace(wanted, members=state.bundle.members), begun=state.begun | begun
        )
    if answer in (state.bundle, UNKNOWN):
        yield state


def _call(state: Called, answer: object, attempt: int, members: tuple[str, ...]) -> Iterator[object]:
    """The batch API is called once in an attempt that was begun, with members of the bundle."""
    inside = state.bundle is not None and set(members) <= set(state.bundle.members)
    if inside and attempt in state.begun - state.calls:
        yield replace(state, calls=state.calls | {attempt})


def _create(state: Task | None, answer: object, task: Task) -> Iterator[object]:
    after = state or task
    if answer in (after, UNKNOWN):
        yield after


def _join(state: Task | None, answer: Claim, bundle: Bundle) -> Iterator[object]:
    """A due task of the bundle's lane comes into the bundle, with all that join it, or it stays."""
    joins = answer is UNKNOWN or (answer.bundle == bundle and not answer.refused)
    if state is not None and _is_due_in(state, bundle) and joins:
        yield replace(
            state, state=TaskState.BUNDLED, bundle_id=bundle.bundle_id, expires_at=bundle.expires_at
        )
    if answer is UNKNOWN or answer.refused or answer.bundle != bundle:
        yield state


def _refused(state: Task | None, answer: Claim, bundle: Bundle) -> Iterator[object]:
    """A task is refused if it waits in that lane no more, or is not due again."""
    if state is None or not _is_due_in(state, bundle):
        yield state


def _is_due_in(task: Task, bundle: Bundle) -> bool:
    waits = task.state is TaskState.CREATED and task.lane == bundle.lane
    return waits and task.due_at <= bundle.created_at


def _settle(state: Task | None, answer: object, task: Task, bundle_id: str) -> Iterator[object]:
    """A task leaves the bundle that it is in."""
    inside = state is not None and state.state is TaskState.BUNDLED and state.bundle_id == bundle_id
    after = task if inside else state
    if answer in (after, UNKNOWN):
        yield after


def _notified(state: Task | None, answer: object, task: Task) -> Iterator[object]:
    if state == task and task.state.ended:
        yield state


STEPS = {
    "lease": _read,
    "put_lease": _put_lease,
    "bundle": _bundle,
    "claim": _claim,
    "seal": _seal,
    "replace_bundle": _replace_bundle,
    "call": _call,
    "create": _create,
    "task": _read,
    "join": _join,
    "refused": _refused,
    "settle": _settle,
    "notified": _notified,
}
