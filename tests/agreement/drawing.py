"""Draws the next call of a sequence from what the calls before it returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from fanin import Mode, Retention, State
from fanin.client.items import Items
from fanin.testing import FakeFanin
from fanin.tracker import Batch, ItemId
from fanin.tracker.batch_changes.reopening import ReopenItems
from tests.agreement.calls import Block, Call
from tests.agreement.deliveries import Delivery
from tests.agreement.worlds import AT, FRESH_FOR

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WAITS = (*(timedelta(0), timedelta(seconds=90), HOUR, DAY) * 8, 8 * DAY, 15 * DAY, 500 * DAY)
FOREIGN = "0d2f1a9c-5f3e-4d57-8a1e-2f6b8d1c9e70"
"""An id that no batch has, in the form of one."""
GONE = f"{FOREIGN}:0d2f1a9c-5f3e-8d57-8a1e-2f6b8d1c9e70:0"
KEYS = ("k1", "k2", "k3", "a key with spaces")
USER_KEYS = ("catalog", "catalog-7", "ünïcode 名前")
REASONS = (None, "no picture", "two\nlines", "x" * 600, "\x07", "   ", "café \ufffd", "\ud800")
SHORT = Retention(timedelta(minutes=9), timedelta(minutes=5), HOUR)
RETENTIONS = (None, SHORT, Retention(complete=30 * DAY), Retention(open=timedelta(seconds=60)))
WRONG: tuple[Any, ...] = (
    *(None, True, 0, -1, 5, 1.5, 2**36 + 1, 2**60, b"bytes", [], {}, {"a": 1}, object, timedelta(0)),
    *("", "x", "X" * 300, "k\n", "é", "\ud800", FOREIGN, FOREIGN.upper(), f"{FOREIGN}\n", GONE, f"{GONE}\n"),
    *(timedelta(days=401), timedelta(microseconds=1), AT, AT.replace(tzinfo=None), State.EXPIRED, "OPEN"),
)
"""Values that stand now and then in place of a right argument, and are right for another one."""
MANY = 1030
"""Items that take several requests, one by one, and as ranges more pages than one request may fail."""
NEGATIVE = (-1, "0", [])
"""Values in place of a timeout, which is not waited for."""
KEPT = ("callback", "retention")
"""Options that no wrong value replaces: the tables alone do not show an unknown callback."""
FIRST = 2
"""Batches that are opened before all other calls."""
OPTIONS: dict[str, tuple[Any, ...]] = {
    "mode": ("exact", "estimated", Mode.ESTIMATED),
    "expected_items": (None, 0, 1, 5),
    "deadline": (None, timedelta(seconds=1), timedelta(seconds=90), HOUR, 30 * DAY),
    "max_failures": (None, 1, 2),
    "max_failure_percent": (None, 1, 50, 100),
    "failure_sample": (None, 1, 3),
    "min_succeeded": (None, 1, 3),
    "min_succeeded_percent": (None, 30, 100),
    "max_items": (None, 1, 30),
    "max_cost": (None, 1, 0.00001),
    "retention": RETENTIONS,
    "labels": (None, *({}, {"team": "mail", "run": ""}) * 4, {"a:b": "c"}, {"a": "b\n"}, {"a": 1}),
    "callback": (None, "orders", "orders", "two parts"),
    "notify_at": (*((), ["firstFailure"], ["90%", "50%", "50%"]) * 4, ("stuck",), "50%"),
    "stuck_after": (None, timedelta(minutes=1), HOUR),
    "on_failures": ("succeed", "succeed", "fail"),
    "task_token": (None, None, "token"),
    "parent_fails_on": ("failed", "any", "never"),
    "results": (True, True, False),
}
CHECKED = {"notify_at", "stuck_after", "min_succeeded", "min_succeeded_percent", "failure_sample"}
"""Options by which a batch is checked each minute as long as it is alive."""


Step = Call | Block | Delivery
Fits = Callable[[Batch], bool]
"""Whether a call of a batch can succeed."""


@dataclass
class Drawing:
    """*fake*: one of the clients, by whose rows calls are drawn that can succeed.

    *batches*: their ids, in the order of their opening; *held*: those that this process has opened. *items*:
    the ranges that answers had; *repeatable*: right calls of the client, which may be repeated.
    """

    random: Random
    fake: FakeFanin
    batches: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    items: list[Items] = field(default_factory=list)
    repeatable: list[Step] = field(default_factory=list)

    def learn(self, answer: Any) -> None:
        """Note what *answer* names, so that later calls can name it."""
        for each in answer if isinstance(answer, list) else [answer]:
            if isinstance(each, tuple) and each[:1] == ("batch",):
                self.held.append(each[1])
                self.batches += [each[1]] if each[1] not in self.batches else []
                self.learn(each[3])
            if isinstance(each, Items) and each and each not in self.items:
                self.items.append(each)

    def switched(self) -> timedelta:
        """Return for how long nothing happens before another process works on."""
        self.held.clear()
        return self.random.choice(WAITS) + FRESH_FOR

    def call(self) -> Step:
        """Return the next call, one in ten with a wrong argument, or one that was made before."""
        if self.repeatable and self._is(0.06):
            return self.random.choice(self.repeatable)
        few = len(self.batches) < FIRST
        drawn = self._open() if few else self.random.choices(DRAWN, WEIGHTS)[0](self)
        if isinstance(drawn, Call) and self._is(0.1):
            return self._spoiled(drawn)
        if drawn.of is None and not isinstance(drawn, Delivery):
            self.repeatable.append(drawn)
        return drawn

    def _spoiled(self, call: Call) -> Call:
        """Return *call* with a wrong value in place of one of its arguments."""
        named = [name for name in (*call.more, "key") if name not in KEPT]
        at: int | str = self.random.choice([*range(len(call.args)), *named])
        is_timeout = call.name in ("wait", "watch") and (call.of or at)
        wrong = self.random.choice(NEGATIVE if is_timeout else WRONG)
        if isinstance(at, str):
            return replace(call, more={**call.more, at: wrong})
        return replace(call, args=(*call.args[:at], wrong, *call.args[at + 1 :]))

    def _open(self) -> Call:
        options = {name: self.random.choice(values) for name, values in OPTIONS.items() if self._is(0.12)}
        if self.items and self._is(0.3):
            options["parent"] = self._id()
            options["parent_fails_on"] = self.random.choice(OPTIONS["parent_fails_on"])
        if options.keys() & CHECKED:
            options["retention"] = SHORT
        return Call("open", tuple(self._some(USER_KEYS, 0.6)), self._keyed(options, 0.25))

    def _block(self) -> Block:
        adds = [Call("add", (self.random.randint(1, 5),), self._keyed({}, 0.3)) for _ in range(2)]
        early = [Call(name) for name in self._some(("close", "cancel", "delete"), 0.2)]
        return Block(self._open(), (*adds[: self.random.randint(0, 2)], *early), self._is(0.3))

    def _add(self) -> Call:
        if not self._fitting(_is_open):
            return self._open()
        count = self.random.choice((1, 1, 2, 3, 5, 9, 17)) if self._is(0.97) else MANY
        # Only a client that opened a batch under a key refuses its adds without one, so each has one here.
        key = {"key": f"add-{self.random.getrandbits(64)}"}
        return self._of_batch("add", _is_open, count, **self._keyed(key, 0.3))

    def _ack(self) -> Call:
        """Ack or fail items one by one: a list of ids, or the whole of a range."""
        ids: Any = [self._id() for _ in range(self.random.randint(0, 5))]
        if self.items and self._is(0.3):
            ids = self.random.choice([self._range(), set(ids), tuple(ids)])
        of = self.held[-1] if self.held and len(ids) == 3 else None  # by the object of a batch
        if self._is(0.4):
            return Call("fail", (ids, *self._some(REASONS, 0.7)), self._keyed({}, 0.3), of)
        return Call("ack", (ids,), self._keyed({}, 0.3), of)

    def _ack_ranges(self) -> Call:
        listed = [self._range() for _ in range(self.random.randint(0, 3)) if self.items]
        ranges = listed[0] if len(listed) == 1 else listed
        if self._is(0.4):
            return Call("fail_ranges", (ranges, *self._some(REASONS, 0.7)), self._keyed({}, 0.3))
        return Call("ack_ranges", (ranges,), self._keyed({}, 0.3))

    def _acked(self) -> Call:
        """Ack all of a range, so that batches complete."""
        return Call("ack_ranges", ([self.random.choice(self.items)] if self.items else [],))

    def _end(self) -> Call:
        name = self.random.choice(("close", "close", "close", "cancel", "end"))
        args = self._some(REASONS, 0.5) if name == "cancel" else [self._reason()] if name == "end" else []
        more = {"children": self._is(0.5)} if name == "cancel" else {}
        return Call(name, (self._batch(lambda batch: batch.is_alive), *args), self._keyed(more, 0.3))

    def _after_the_end(self) -> Call:
        if not self._fitting(_has_ended):
            return self._end()
        name = self.random.choice(("notify", "delete", "close", "cancel"))
        return Call(name, (self._batch(_has_ended),))

    def _end_of_batch(self) -> Call:
        """End a batch by its object, which has keys of its own."""
        name = self.random.choice(("close", "cancel", "end", "notify", "delete"))
        return self._of_object(Call(name, ("why",) if name == "end" else ()))

    def _reopen(self) -> Call:
        options: dict[str, Any] = {"items": self.random.choice((*ReopenItems, "unfinished"))}
        given = {
            "user_key": USER_KEYS,
            "deadline": OPTIONS["deadline"],
            "max_failures": (1, 2),
            "labels": OPTIONS["labels"],
        }
        options |= {name: self.random.choice(values) for name, values in given.items() if self._is(0.2)}
        fits = _has_failed if options["items"] == "failed" else _has_left
        if not self._fitting(fits):
            return self._towards_an_end()
        batch_id = self._batch(fits)
        if batch_id in self.held and self._is(0.5):
            return Call("reopen", (), self._keyed({"items": options["items"]}, 0.3), of=batch_id)
        return Call("reopen", (batch_id,), self._keyed(options, 0.3))

    def _towards_an_end(self) -> Call:
        """End a batch with failures, or fail items, so that there is something to reopen."""
        failed = self._fitting(lambda batch: batch.is_alive and batch.failed > 0)
        if failed:
            return Call("cancel", (self.random.choice(failed), "enough"))
        return Call("fail_ranges", ([self._range()] if self.items else [], "no picture"))

    def _pairs(self) -> Call:
        reopened = self._fitting(lambda batch: batch.origin_batch_id is not None)
        if not reopened and self._is(0.8):
            return self._reopen()
        held = [each for each in reopened if each in self.held]
        if held and self._is(0.8):
            return Call("pairs", of=self.random.choice(held))
        return Call("pairs", (self.random.choice([*reopened * 3, *self.batches]),))

    def _read(self) -> Call:
        if self._is(0.15):
            return Call("children", (self._id() if self._is(0.5) else self._batch(),))
        if self._is(0.1):
            name = self._batch() if self._is(0.5) else self.random.choice(USER_KEYS)
            return Call(self.random.choice(("batch", "status")), (name,))
        name = self.random.choice(
            ("status", "status", "status", "outstanding", "failures", "samples", "results", "wait", "watch")
        )
        return Call(name, (self._batch(), *((0,) if name in ("wait", "watch") else ())))

    def _read_of_batch(self) -> Call:
        reads = ("status", "outstanding", "failures", "samples", "results", "children", "map")
        name = self.random.choice((*reads, "progress_token", "wait", "watch", "reopen"))
        return self._of_object(Call(name, (0,) if name in ("wait", "watch") else ()))

    def _map(self) -> Call:
        if self._is(0.3):
            more = {} if self._is(0.5) else {"expires": self.random.choice((1, 604_800, 604_801))}
            return Call("progress_token", (self._batch(),), more)
        window = {"cells": (1, 3, 1024), "start": (0, 2, 7), "stop": (None, 1, 5, 100)}
        more = {name: self.random.choice(values) for name, values in window.items() if self._is(0.4)}
        return Call("map", (self._batch(),), more)

    def _delivery(self) -> Delivery | Call:
        """Deliver messages of items of batches that have not expired: over HTTP those are as unknown ones.

        None of batches that others stand for, either, whose end over HTTP a process may not know for seconds.
        """
        stored = self.fake.store.batches.values()
        parents = {str(batch.parent_item_id).partition(":")[0] for batch in stored}
        there = set(self._fitting(lambda batch: batch.batch_id not in parents))
        known = [items for items in self.items if items.batch_id in there]
        if not known:
            return self._open()
        ids = [self.random.choice(self.random.choice(known)) for _ in range(self.random.randint(1, 5))]
        return Delivery(
            messages=tuple((item, self.random.choice((1, 1, 2, 3))) for item in dict.fromkeys(ids)),
            fail_after=self.random.choice((None, None, 2)),
            raising=frozenset(item for item in ids if self._is(0.2)),
            for_good=frozenset(item for item in ids if self._is(0.1)),
            reported=frozenset(item for item in ids if self._is(0.1)),
            in_order=self._is(0.2),
            results=self._is(0.5),
        )

    def _outstanding_of(self) -> Call:
        items = self._range() if self.items else Items(FOREIGN, GONE[37:73], 3)
        return Call("outstanding_of", (items,), {"failed": True} if self._is(0.5) else {})

    def _batches(self) -> Call:
        values: dict[str, tuple[Any, ...]] = {
            "user_key": USER_KEYS,
            "state": tuple(State),
            "label": ("team:mail", "run:", "none"),
            "condition": ("live", "problems", "endedBadly", "lively"),
            "user_key_prefix": ("cata", "ü", "\n"),
            "opened_from": (AT, AT + DAY),
            "opened_to": (AT, AT + DAY),
        }
        return Call(
            "batches", (), {name: self.random.choice(each) for name, each in values.items() if self._is(0.2)}
        )

    def _delete_ended(self) -> Call:
        return Call("delete_ended", (AT + self.random.choice((timedelta(0), HOUR, HOUR, DAY, 900 * DAY)),))

    def _of_batch(self, name: str, fits: Fits, *args: Any, **more: Any) -> Call:
        """Return a call of the client, or of the object of a batch."""
        batch_id = self._batch(fits)
        if batch_id in self.held and self._is(0.5):
            return Call(name, args, more, of=batch_id)
        return Call(name, (batch_id, *args), more)

    def _of_object(self, call: Call) -> Call:
        if not self.held:
            return Call("status", (self._batch(),))
        return replace(call, of=self.random.choice(self.held))

    def _batch(self, fits: Fits = lambda _: True) -> str:
        """Return the id of a batch, rather of one that *fits* than of another."""
        fitting = self._fitting(fits)
        if fitting and self._is(0.8):
            return self.random.choice(fitting)
        return FOREIGN if self._is(0.05) else self.random.choice(self.batches)

    def _fitting(self, fits: Fits) -> list[str]:
        """Return the ids of the batches that fit, but for those that are deleted or have expired."""
        stored, now = self.fake.store.batches.values(), self.fake.clock.now()
        there = (batch for batch in stored if batch.expires_at > now and batch.state is not State.EXPIRED)
        return [batch.batch_id for batch in there if fits(batch)]

    def _range(self) -> Items:
        """Return a part of a range, rather of a live batch than of another; seldom one with gaps."""
        live = self._fitting(lambda batch: batch.is_alive)
        fitting = [items for items in self.items if items.batch_id in live]
        items = self.random.choice(fitting if fitting and self._is(0.8) else self.items)
        first, last = sorted(self.random.randrange(len(items)) for _ in range(2))
        return items[first : last + 1 : 2 if self._is(0.05) else 1]

    def _id(self) -> str | ItemId:
        """Return the id of an item, seldom one that no batch has, or in another form."""
        if not self.items or self._is(0.03):
            return GONE
        known = self._range()[0]
        if self._is(0.05):
            beyond = f"{known.rpartition(':')[0]}:99"
            return self.random.choice((beyond, known.upper(), f"{known}\n", f" {known}", f"{known}0"))
        return ItemId.parse(known) if self._is(0.1) else known

    def _reason(self) -> str | None:
        return self.random.choice(("stuck", *REASONS))

    def _keyed(self, more: dict[str, Any], chance: float) -> dict[str, Any]:
        """Return the named arguments *more*, now and then with one of a few keys."""
        return {**more, "key": self.random.choice(KEYS)} if self._is(chance) else more

    def _some(self, values: Sequence[Any], chance: float) -> list[Any]:
        return [self.random.choice(values)] if self._is(chance) else []

    def _is(self, chance: float) -> bool:
        return self.random.random() < chance


def _is_open(batch: Batch) -> bool:
    return batch.state is State.OPEN


def _has_ended(batch: Batch) -> bool:
    return not batch.is_alive


def _has_failed(batch: Batch) -> bool:
    return _has_ended(batch) and batch.failed > 0 and batch.mode is Mode.EXACT


def _has_left(batch: Batch) -> bool:
    return _has_failed(batch) or (_has_ended(batch) and batch.total > 0 and batch.state is not State.COMPLETE)


CHOICES: tuple[tuple[Callable[[Drawing], Step], int], ...] = (
    (Drawing._open, 4),
    (Drawing._block, 4),
    (Drawing._add, 6),
    (Drawing._ack, 7),
    (Drawing._ack_ranges, 4),
    (Drawing._acked, 3),
    (Drawing._end, 6),
    (Drawing._end_of_batch, 3),
    (Drawing._after_the_end, 3),
    (Drawing._reopen, 3),
    (Drawing._pairs, 3),
    (Drawing._read, 6),
    (Drawing._read_of_batch, 4),
    (Drawing._map, 1),
    (Drawing._outstanding_of, 2),
    (Drawing._delivery, 3),
    (Drawing._batches, 2),
    (Drawing._delete_ended, 1),
)
"""What is drawn, and how often each is beside the others."""
DRAWN, WEIGHTS = zip(*CHOICES, strict=True)
