"""Rules of results, each left out once."""

from __future__ import annotations

import json
from contextlib import suppress

from fanin.errors import StoreUnavailable
from fanin.item_results import gathering, service
from fanin.item_results.files import Index
from fanin.item_results.gathering import Frozen, Gatherer
from fanin.item_results.lines import part_of
from fanin.item_results.objects import folder_of
from fanin.item_results.service import Results
from fanin.tracker import Tracker
from fanin.tracker.batch_changes.repairing import Repairs
from fanin.tracker.batch_changes.sweeping import Sweeper
from fanin.tracker.rules.model import RESULTS_STAY, Batch, Manifest
from tests.simulating.mutants import Mutant

_keep, _record, _deleted, _gather = Tracker._keep_results, Tracker._record, Repairs._deleted, Gatherer.gather
_until, _sorted = Batch.results_until, Gatherer._sorted


def _acked_first(self, tenant, acks):
    with_nothing = self._keep_results
    object.__setattr__(self, "_keep_results", lambda request: None)
    try:
        answer = _record(self, tenant, acks)
    finally:
        object.__setattr__(self, "_keep_results", with_nothing)
    _keep(self, self._plan(tenant, acks))
    return answer


def _kept_if_it_goes(self, request):
    with suppress(StoreUnavailable):
        _keep(self, request)


def _named_by_its_length(self, key, results):
    self.objects.put(f"{folder_of(key)}parts/{len(results)}", part_of(results))


def _listed_again(objects, key, each=None):
    folder = folder_of(key)
    content = gathering._listed(objects, folder + "parts/", each)
    objects.put(folder + "manifest", content)
    count, size = json.loads(next(gathering._rows(content)))
    return Frozen(Manifest(folder + "manifest", count, size), content, folder + "parts/")


def _gathered_anew(self, batch, has_time):
    """Each reader merges by itself, the last part first where its own ids say so, and replaces the index."""
    parts = list(gathering.frozen(self.objects, batch.key).parts)
    lines = _sorted(self, parts[::-1] if self.new_id().int % 2 else parts)(0)
    folder = folder_of(batch.key)
    files = [
        gathering.write(self.objects, f"{folder}files/{self.new_id()}", some)
        for some in gathering.cut(self._counted(batch, lines), self.file_bytes)
    ]
    self.objects.put(folder + "index", Index(tuple(files)).dump())
    return Index(tuple(files))


def _removed_first(self, batch):
    if batch.results:
        self.result_store().delete(batch.key)
    return _deleted(self, batch)


def _removed_at_the_end(self, batch):
    if self.results is None or self.results.delete(batch.key):
        self.climber.store.postpone(batch, None)


def _never_removed(self, batch):
    self.climber.store.postpone(batch, None)


def _gathered_unseen(self, batch, pages, has_time=lambda: True):
    service.check_readable(batch)
    return self.gatherer(pages).gather(batch, has_time)


def _just_expired(self):
    until = _until.fget(self)
    return until and until - RESULTS_STAY


def _acked(page, bit):
    return not page.unset(1 << bit)


def _not_failed(page, bit):
    return not page.failed >> bit & 1


RESULT_MUTANTS = (
    Mutant("a result is written before its item is acked", (Tracker, "_record", _acked_first)),
    Mutant("an item is acked only if its result is written", (Tracker, "_keep_results", _kept_if_it_goes)),
    Mutant("a part has a new name", (Results, "keep", _named_by_its_length)),
    Mutant(
        "the first manifest of a batch stays",
        (gathering, "frozen", _listed_again),
        (service, "frozen", _listed_again),
    ),
    Mutant("the first index of a batch stays", (Gatherer, "gather", _gathered_anew)),
    Mutant("a failed item has no result", (gathering, "_succeeded", _acked)),
    Mutant("an item that is not done has no result", (gathering, "_succeeded", _not_failed)),
    Mutant("results are read after the end", (service, "check_readable", lambda batch: None)),
    Mutant("a batch is marked before its results are removed", (Repairs, "_deleted", _removed_first)),
    Mutant("results are kept as long as their batch", (Sweeper, "_put_away", _removed_at_the_end)),
    Mutant("results are removed at the expiry", (Sweeper, "_put_away", _never_removed)),
    Mutant("a reader sees whether its batch was deleted meanwhile", (Results, "gathered", _gathered_unseen)),
    Mutant(
        "results are kept until every clock has expired them",
        (Batch, "results_until", property(_just_expired)),
    ),
)
