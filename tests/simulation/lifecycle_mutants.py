"""Rules of the whole lifecycle, each left out once."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from uuid import NAMESPACE_OID, uuid5

from fanin.tracker import Outcome, State, Tracker, service
from fanin.tracker.batch_changes import sweeping
from fanin.tracker.batch_changes.climb import BitsSet, Climber
from fanin.tracker.batch_changes.opening import new_batch
from fanin.tracker.batch_changes.recording import Recorder
from fanin.tracker.batch_changes.sweeping import Sweeper
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.walking import Walk
from fanin.tracker.rules.acking import AckPlan, PagePlan
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.store import Written
from tests.simulating.mutants import Mutant

_admits, _add_bits = Transition.admits, MemoryStore.add_bits
_add_count, _mark = MemoryStore.add_count, Climber.mark
_close, _open, _turn = Tracker.close, Tracker.open, MemoryStore.transition
_parent_ack, _record = Tracker._parent_ack, Recorder.record


def _failing(write):
    """The add of failures to a leaf as *write* does it, and every other add as it is."""

    def add_bits(self, key, masks, expires_at):
        rule = write if masks.failed and key.is_leaf else _add_bits
        return rule(self, key, masks, expires_at)

    return add_bits


def _uncounted(self, key, masks, expires_at):
    before = self.batches[key.batch]
    written = _add_bits(self, key, masks, expires_at)
    self.batches[key.batch] = before
    return written


def _after_the_end(self, key, masks, expires_at):
    page, batch = self.stored_pages.get(key, Page()), self.batches[key.batch]
    if not page.admits(masks.mask):
        return Written(page, applied=False)
    self.batches[key.batch] = replace(batch, failed=batch.failed + masks.failed.bit_count())
    return self._put(key, page.with_bits(masks))


def _over_success(self, key, masks, expires_at):
    page, batch, mask = self.stored_pages.get(key, Page()), self.batches[key.batch], masks.failed
    if not batch.is_alive or page.compacted or page.failed & mask:
        return Written(page, applied=False)
    self.batches[key.batch] = replace(batch, failed=batch.failed + mask.bit_count())
    return self._put(key, replace(page, failed=page.failed | mask, bits=page.bits | mask))


def _heal(alive: bool, guarded: bool):
    """Healing with some of its conditions."""

    def heal_bits(self, key, mask):
        page, batch = self.stored_pages.get(key, Page()), self.batches[key.batch]
        if (alive and not batch.is_alive) or (guarded and page.failed & mask != mask):
            return False
        self.batches[key.batch] = replace(batch, failed=batch.failed - mask.bit_count())
        return self._put(key, page.healed(mask)).applied

    return heal_bits


def _succeed_without_healing(self, batch, number, masks, seen=None):
    if seen is not None:
        return _mark(self, batch, number, masks, seen)
    return BitsSet(*self._write(batch, PageKey(batch.key, 0, number), masks))


def _heal_once(self, batch, key, mask):
    return mask if self.store.heal_bits(key, mask) else 0


def _admits_without(condition: str):
    """A step that is admitted without one of its conditions."""

    def admits(self, batch):
        free = replace(batch, **{condition: self.at})
        return _admits(self, free if getattr(batch, condition) is not None else batch)

    return admits


def _admits_without_expected(self, batch):
    return _admits(replace(self, expected=False), batch)


def _extend_always(self, key, expires_at, next_check_at):
    batch = self.batches[key]
    if batch.is_alive:
        self.batches[key] = batch = replace(batch, expires_at=expires_at, next_check_at=next_check_at)
    return batch


def _extend_the_ended(self, key, expires_at, next_check_at):
    batch = self.batches[key]
    if batch.expires_at < expires_at:
        self.batches[key] = batch = replace(batch, expires_at=expires_at, next_check_at=next_check_at)
    return batch


def _extend_as_open(self, batch):
    at = self.now()
    until = service.extended_expiry(batch, at) if batch.is_alive else None
    if until is not None:
        self.store.extend(batch.key, until, service.first_check(batch, batch.state, at, until))


def _postpone_always(self, seen, next_check_at):
    self.batches[seen.key] = replace(self.batches[seen.key], next_check_at=next_check_at)


def _postpone_in_the_same_state(self, seen, next_check_at):
    if self.batches[seen.key].state is seen.state:
        _postpone_always(self, seen, next_check_at)


def _repaired_without_leaves(self, batch):
    return self.climber.seal(batch, "sweeper") or batch


def _repaired_without_seal(self, batch):
    if batch.total:
        sweeping._climb_again(self.climber, batch)
    return self.climber.store.get(batch.key) or batch


def _climb_root_only(climber, batch):
    level = sweeping.height(batch.total, batch.shape)
    key = PageKey(batch.key, level, 0)
    climber.climb(batch, {key: climber.store.pages([key]).get(key, Page())}, "sweeper")


def _climb_again_from_leaves(climber, batch):
    leaves = -(-batch.total // batch.shape.leaf)
    keys = [PageKey(batch.key, 0, number) for number in range(leaves)]
    for key, page in climber.store.pages(keys).items():
        if sweeping.height(batch.total, batch.shape) == 1:
            climber.climb(batch, {key: page}, "sweeper")


def _announce(parent: bool, notice: bool, forget: bool):
    """What is said of an ended batch, with parts left out."""

    def announce(self, batch):
        store, now = self.climber.store, self.climber.now()
        if parent:
            self.ended(batch)
        if forget or store.is_confirmed(batch.key):
            store.postpone(batch, None)
            return
        if notice:
            store.notice(batch, now)
        store.postpone(batch, sweeping.next_check(batch, now))

    return announce


def _confirm(parent: bool, leave: bool):
    """What a confirmation does, with parts left out."""

    def confirm(self, batch):
        self.store.confirm(batch.key, batch.expires_at)
        if parent:
            self._ack_parents([batch], self._parent_ack)
        if leave and batch.next_check_at is not None:
            self.store.postpone(batch, None)

    return confirm


def _ack_parent_first(self, tenant, batch_id, caller):
    seen = self.get(tenant, batch_id)
    if seen.parent_item_id is not None:
        self._ack_parents([replace(seen, state=State.COMPLETE)], self._parent_ack)
    return _close(self, tenant, batch_id, caller)


def _notify_as_succeeded(self, batch):
    ack = _parent_ack(self, batch)
    return ack and replace(ack, outcome=Outcome.SUCCESS)


def _worth_if_unknown(self, bit, failures):
    full = self.bits >> bit & 1
    return bool(self.failed >> bit & 1) if full and failures else not full


def _worth_whatever_failed(self, bit, failures):
    return not (self.compacted or self.bits >> bit & 1)


def _wanted_though_compacted(self, page, size):
    return page.failed if self.failures else (1 << size) - 1 & ~page.bits


def _unmarked_parents(self, key, masks, expires_at):
    return _add_bits(self, key, masks if key.is_leaf else PageMasks(masks.mask), expires_at)


def _ended_forgotten(self, request):
    """Ended or not, the pages are written."""
    for page in request.pages.values():
        page.batch = replace(page.batch, state=State.CLOSED)
    _record(self, request)


def _add_count_uncounted(self, key, count, outcome, expires_at):
    return _add_count(self, key, count, Outcome.SUCCESS, expires_at)


def _in_order_of_coming(self):
    return list(self.pages.values())


def _known_for_ever(self, key):
    _, batch = self._known.get(key, (None, None))
    if batch is None:
        batch = self.store.get(key)
        if batch is not None:
            self._remember(batch)
    return batch


def _samples_of_the_first(self, page, fresh):
    for piece in page.pieces:
        if piece.ack.reason is not None and page.outcome is Outcome.FAILURE and piece.mask & fresh:
            group = service.GroupId.decode(piece.ack.group_id)
            self._keep(page.batch, piece.ack, group.start + piece.ack.first)


class _OverWithoutEnd:
    """A store in which a batch past its time is over for a caller that opens, before a write ends it."""

    def __init__(self, tracker):
        self._store, self._now = tracker.store, tracker.now

    def get(self, key):
        stored = self._store.get(key)
        over = stored is not None and stored.is_alive and stored.expires_at <= self._now()
        return replace(stored, state=State.EXPIRED) if over else stored

    def __getattr__(self, name):
        return getattr(self._store, name)


def _open_without_end(self, tenant, spec, key=None):
    return _open(replace(self, store=_OverWithoutEnd(self)), tenant, spec, key)


def _open_by_count(self, tenant, spec, key=None):
    """A key's batches have ids that follow from it, and the first id that is free or alive is taken."""
    names = (uuid5(NAMESPACE_OID, f"{tenant}/{key or self.new_id()}/{step}") for step in count())
    keys = (BatchKey(tenant, str(name)) for name in names)
    new = (new_batch(named, spec, self.page_bits, self.entropy(16), self.now()) for named in keys)
    stored = (self._ended_if_due(self.store.create(batch)) for batch in new)
    return next(batch for batch in stored if not self._is_over(batch))


def _over_if_written_down(self, batch):
    return batch.state is State.EXPIRED


def _samples_as_kept(self, batch):
    return self.store.samples(batch.key)


def _turn_from_anywhere(self, key, step):
    before = self.batches[key]
    _turn(self, key, step)
    if step.to is State.CANCELLED:
        self.batches[key] = step.apply(before)
    return self.batches[key]


ALL = tuple(State)

LIFECYCLE_MUTANTS = (
    Mutant("a failure is counted with its bit", (MemoryStore, "add_bits", _failing(_uncounted))),
    Mutant("a failure is counted in a live batch", (MemoryStore, "add_bits", _failing(_after_the_end))),
    Mutant("failure never overrides success", (MemoryStore, "add_bits", _failing(_over_success))),
    Mutant("success heals a failure", (Climber, "mark", _succeed_without_healing)),
    Mutant("healing wants the bits to be failed", (MemoryStore, "heal_bits", _heal(True, False))),
    Mutant("healing wants a live batch", (MemoryStore, "heal_bits", _heal(False, True))),
    Mutant("healing goes on with what is left", (Climber, "_heal", _heal_once)),
    Mutant("a step starts from its states", (Transition, "sources", ALL)),
    Mutant("what has ended is not cancelled", (MemoryStore, "transition", _turn_from_anywhere)),
    Mutant("a batch expires when it was not active", (Transition, "admits", _admits_without("expires_at"))),
    Mutant("a batch closes with what it expects", (Transition, "admits", _admits_without_expected)),
    Mutant("an extension does not shorten", (MemoryStore, "extend", _extend_always)),
    Mutant("an extension wants a live batch", (MemoryStore, "extend", _extend_the_ended)),
    Mutant("an extension expects that the batch was closed", (Tracker, "_prolong", _extend_as_open)),
    Mutant("activity counts", (Tracker, "_prolong", lambda self, batch: None)),
    Mutant("a look is not put off for a batch that moved", (MemoryStore, "postpone", _postpone_always)),
    Mutant("the sweeper climbs from full pages", (Sweeper, "_repaired", _repaired_without_leaves)),
    Mutant("the sweeper climbs from leaves", (sweeping, "_climb_again", _climb_root_only)),
    Mutant("the sweeper climbs from parents", (sweeping, "_climb_again", _climb_again_from_leaves)),
    Mutant("the sweeper seals", (Sweeper, "_repaired", _repaired_without_seal)),
    Mutant("the sweeper ends by time", (sweeping, "end_by_time", lambda climber, batch: batch)),
    Mutant(
        "the sweeper notifies the parent", (Sweeper, "_finish", _announce(False, True, False)), since=1400
    ),
    Mutant("the sweeper sends the event again", (Sweeper, "_finish", _announce(True, False, False))),
    Mutant("the sweeper forgets what is confirmed alone", (Sweeper, "_finish", _announce(True, True, True))),
    Mutant("a confirmation notifies the parent", (Tracker, "confirm", _confirm(False, True))),
    Mutant("a confirmed batch is not due", (Tracker, "confirm", _confirm(True, False))),
    Mutant("a parent is notified", (Tracker, "_parent_ack", lambda self, batch: None)),
    Mutant("a parent is notified after the end", (Tracker, "close", _ack_parent_first)),
    Mutant("a parent is notified how it ended", (Tracker, "_parent_ack", _notify_as_succeeded)),
    Mutant("failures lie under full pages too", (Page, "is_worth", _worth_whatever_failed)),
    Mutant("a compacted leaf has nothing outstanding", (Walk, "_wanted", _wanted_though_compacted)),
    Mutant("a parent marks who held failures", (MemoryStore, "add_bits", _unmarked_parents)),
    Mutant("nothing is written to what has ended", (Recorder, "record", _ended_forgotten)),
    Mutant("a failure is counted in an estimate", (MemoryStore, "add_count", _add_count_uncounted)),
    Mutant("every ack of a request counts", (PagePlan, "size", property(lambda self: 1))),
    Mutant("a key's last batch ends before the next one", (Tracker, "open", _open_without_end)),
    Mutant("a key's batch is not looked for by counting", (Tracker, "open", _open_by_count)),
    Mutant("what has expired is gone though its row is there", (Tracker, "_is_over", _over_if_written_down)),
    Mutant("a healed item shows no reason", (Tracker, "samples", _samples_as_kept)),
    Mutant("a state is read again", (Tracker, "_known_batch", _known_for_ever)),
)

LIFECYCLE_EQUIVALENT = (
    (
        Mutant("a look is put off once", (MemoryStore, "postpone", _postpone_in_the_same_state)),
        "within a state all plans for the next look are early enough, whichever of two is kept",
    ),
    (
        Mutant("a batch times out at its deadline", (Transition, "admits", _admits_without("deadline_at"))),
        "a deadline never changes, and who asks has looked at it and at the clock",
    ),
    (
        Mutant("a compacted parent has full children", (Page, "is_worth", _worth_if_unknown)),
        "a look below it finds its children full: it costs reads, and the answer is the same",
    ),
    (
        Mutant("a sample is of what failed", (Recorder, "_keep_reasons", _samples_of_the_first)),
        "a reason of what has not failed is not shown; one is lost, and only a bounded number is kept",
    ),
    (
        Mutant("successes go before failures", (AckPlan, "in_order", _in_order_of_coming)),
        "a success that comes second heals the failure: all that is stored and answered is the same",
    ),
)
