"""Checks that a batch, its pages and their parents agree: one rule per kind of disagreement. Pure.

The rules rest on invariants: bits are only ever set, a total is final once its batch is closed, and a page
climbs after it is full. Pages are read level by level, the highest first, so that only parents are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Any

from fanin.tracker.rules.model import ALIVE, ESTIMATED_LEAF, PageKey, State
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import PAGE_BITS_MAX, Page, mask_of
from fanin.tracker.rules.tree import Shape, tails
from pipeline.shared_by_jobs import bitmaps


class Rule(StrEnum):
    """A kind of disagreement, with its reported text."""

    MALFORMED = "malformed row"
    ORPHAN = "page without a batch"
    COUNT = "n is not the number of bits"
    FAILED_NOT_ACKED = "failed items that are not acked"
    TOO_MANY = "more bits than the page has items"
    COMPACTED = "compacted, and n is not that of a full page"
    BEYOND_TOTAL = "items beyond the total"
    WRONG_SIZE = "size or root is not what close marks"
    UNSEALED = "close has not marked the last page"
    CLIMB_MISSING = "full, and its parent does not know"
    NOT_FULL = "its parent says full, and it is not"
    FAILURE_UNMARKED = "has failures, and its parent has no mark of them"
    NOT_COMPLETE = "nothing is outstanding, and it is not COMPLETE"
    COMPLETE_EARLY = "COMPLETE, and its root is not full"
    ENOUGH_EARLY = "ended as enough, and fewer items have succeeded"
    FAILED_COUNT = "failed is not the number of failed items"


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement; about the batch itself if *level* and *page* are None.

    *sure*: no write in progress can explain it. Others are rechecked.
    """

    rule: Rule
    detail: str
    level: int | None = None
    page: int | None = None
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """The attributes of a batch's row that its pages must agree with."""

    state: State
    mode: Mode
    total: int
    failed: int
    page_bits: int
    max_failures: int | None
    max_failure_percent: int | None = None
    reached: int | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Account:
        """Return the account of a row of BATCHES."""
        return cls(
            State(facts["state"]),
            Mode(facts["mode"]),
            facts["total"],
            facts["failed"],
            facts["page_bits"],
            facts["max_failures"],
            facts["max_failure_percent"],
            facts["reached"],
        )

    @property
    def shape(self) -> Shape:
        return Shape(self.page_bits if self.mode is Mode.EXACT else ESTIMATED_LEAF, self.page_bits)

    @property
    def is_final(self) -> bool:
        """Return whether the total can no longer change."""
        return self.state is not State.OPEN

    @property
    def has_enough_failures(self) -> bool:
        """Return whether its failures end it while it is open or closed."""
        percent = self.max_failure_percent if self.state is State.CLOSED else None
        by_percent = percent is not None and self.failed > 0 and self.failed * 100 >= self.total * percent
        return by_percent or (self.max_failures is not None and self.failed >= self.max_failures)

    @property
    def is_complete(self) -> bool:
        """Return whether it ended because every item was acked."""
        return self.state is State.COMPLETE and self.reached is None

    def counts(self, level: int) -> bool:
        """Return whether a page of *level* counts acks instead of setting bits."""
        return level == 0 and self.mode is Mode.ESTIMATED

    def per_page(self, level: int) -> int:
        """Return the capacity of a page that is not the last: items of a leaf, children of a parent."""
        return self.shape.leaf if level == 0 else self.shape.fanout

    def entries(self, level: int, page: int) -> int:
        """Return how many items or children a page can have by the batch's total."""
        width = 1 if level == 0 else self.shape.width(level - 1)
        all_of_level = -(-self.total // width)
        return max(0, min(self.per_page(level), all_of_level - page * self.per_page(level)))


@dataclass(frozen=True, slots=True)
class Stored:
    """A page, its level and its number."""

    level: int
    number: int
    page: Page

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Stored:
        """Return the page of a row of PAGES."""
        acked, failed = bitmaps.to_mask(facts["bits"]), bitmaps.to_mask(facts["failed"])
        page = Page(acked, facts["n"], facts["size"], facts["root"], facts["compacted"], failed)
        return cls(facts["level"], facts["page"], page)

    @classmethod
    def read(cls, key: PageKey, page: Page | None) -> Stored:
        """Return the page as read from the tracker's store, which has no bits for a compacted one."""
        if page is not None and page.compacted:
            page = replace(page, bits=mask_of(0, min(page.size or PAGE_BITS_MAX, PAGE_BITS_MAX) - 1))
        return cls(key.level, key.number, page or Page())

    def finding(self, rule: Rule, detail: str, sure: bool = False) -> Finding:
        return Finding(rule, detail, self.level, self.number, sure)


class Audit:
    """Checks the pages of one batch against its account."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.tails = list(tails(account.total, account.shape)) if account.total else []
        self._marks = {(tail.level, tail.number): (tail.size, tail.root) for tail in self.tails}

    def page(self, stored: Stored) -> Iterator[Finding]:
        """Yield what is wrong with a page by itself, and by the batch's total."""
        page, account = stored.page, self.account
        if not account.counts(stored.level):
            yield from self._bits(stored)
        full = page.size or account.per_page(stored.level)
        if page.compacted and (page.n < full or (page.n > full and not account.counts(stored.level))):
            yield stored.finding(Rule.COMPACTED, f"n = {page.n}, a full page has {full}", sure=True)
        entries = account.entries(stored.level, stored.number)
        if self._reach(stored) > entries:
            yield stored.finding(Rule.BEYOND_TOTAL, f"it can have {entries}", account.is_final)
        marked, expected = (page.size, page.root), self._marks.get((stored.level, stored.number))
        if marked != (None, False) and (marked != expected or not account.is_final):
            yield stored.finding(Rule.WRONG_SIZE, f"size = {page.size}, root = {page.root}", account.is_final)

    def link(self, stored: Stored, parent: Page) -> Iterator[Finding]:
        """Yield disagreements of a page and its parent; either may be `Page()`, which is not stored."""
        page, bit = stored.page, stored.number % self.account.shape.fanout
        is_full, is_known = page.is_full(self.account.per_page(stored.level)), parent.bits >> bit & 1
        if is_full and not is_known and self._should_climb(page):
            yield stored.finding(Rule.CLIMB_MISSING, f"n = {page.n}")
        if is_known and not is_full:
            yield stored.finding(Rule.NOT_FULL, f"n = {page.n}")
        if is_known and page.failed and not parent.failed >> bit & 1:
            yield stored.finding(Rule.FAILURE_UNMARKED, f"{page.failed.bit_count()} failed")

    def ends(
        self, last: Mapping[int, Page], failures: int | None, succeeded: int | None = None
    ) -> Iterator[Finding]:
        """Yield disagreements of the batch's state and its pages.

        *last*: the stored last page of each level. *failures*, *succeeded*: such items of all leaves, None if
        they were not counted.
        """
        account, pages = self.account, [(tail, last.get(tail.level, Page())) for tail in self.tails]
        if account.state is State.CLOSED or account.is_complete:
            for tail, page in pages:
                if page.size is None:
                    yield Finding(Rule.UNSEALED, f"size is to be {tail.size}", tail.level, tail.number)
        full = all(page.n >= tail.size for tail, page in pages[-1:])
        if account.is_complete and not full:
            yield Finding(Rule.COMPLETE_EARLY, f"total = {account.total}")
        if self._is_over(full):
            yield Finding(Rule.NOT_COMPLETE, f"it is {account.state}")
        if failures is not None and account.mode is Mode.EXACT and failures != account.failed:
            yield Finding(Rule.FAILED_COUNT, f"failed = {account.failed}, the pages have {failures}")
        if account.reached is not None and succeeded is not None and succeeded < account.reached:
            yield Finding(
                Rule.ENOUGH_EARLY, f"reached = {account.reached}, the pages have {succeeded}", sure=True
            )

    def _bits(self, stored: Stored) -> Iterator[Finding]:
        page = stored.page
        if page.failed & ~page.bits:
            yield stored.finding(
                Rule.FAILED_NOT_ACKED, f"{(page.failed & ~page.bits).bit_count()}", sure=True
            )
        if page.compacted:
            return
        if page.n != page.bits.bit_count():
            yield stored.finding(Rule.COUNT, f"n = {page.n}, bits = {page.bits.bit_count()}", sure=True)
        if page.bits.bit_length() > (page.size or self.account.per_page(stored.level)):
            yield stored.finding(Rule.TOO_MANY, f"bit {page.bits.bit_length() - 1} is set", sure=True)

    def _reach(self, stored: Stored) -> int:
        """Return the number of the last used entry of a page, counted from 1."""
        page = stored.page
        if self.account.counts(stored.level):
            return min(page.n, 1)
        return page.n if page.compacted else page.bits.bit_length()

    def _should_climb(self, page: Page) -> bool:
        """Return whether a full page must be marked in its parent: not a root or after the batch ended."""
        return not page.root and (self.account.is_complete or self.account.state in ALIVE)

    def _is_over(self, is_root_full: bool) -> bool:
        """Return whether an open or closed batch should have ended."""
        account = self.account
        if account.has_enough_failures and account.state in ALIVE:
            return True
        return account.state is State.CLOSED and is_root_full


def audit_batch(account: Account | None, pages: Iterable[Stored]) -> Iterator[Finding]:
    """Yield what is wrong with a batch, or with pages without one; *pages* by level, the highest first."""
    if account is None:
        yield from (stored.finding(Rule.ORPHAN, "there is no row of its batch") for stored in pages)
        return
    audit = Audit(account)
    lasts = {tail.level: tail.number for tail in audit.tails}
    above: dict[int, Page] = {}
    last: dict[int, Page] = {}
    failures = succeeded = 0
    for level, of_level in _by_level(pages):
        family = _Family(audit, level, above)
        for stored in of_level:
            yield from audit.page(stored)
            yield from family.child(stored)
            failures += stored.page.failed.bit_count() if level == 0 else 0
            succeeded += stored.page.succeeded if level == 0 else 0
            if stored.number == lasts.get(level):
                last[level] = stored.page
        yield from family.absent()
        above = family.kept
    yield from audit.ends(last, failures, succeeded)


class _Family:
    """The pages of one level, and their parents."""

    def __init__(self, audit: Audit, level: int, above: Mapping[int, Page]) -> None:
        self.audit = audit
        self.level = level
        self.kept: dict[int, Page] = {}
        """The pages of this level, if they are parents themselves."""
        self._above = above
        self._claims = {number: page.bits for number, page in above.items()}
        """The children that each parent marks full, without those already checked."""

    def child(self, stored: Stored) -> Iterator[Finding]:
        number, bit = divmod(stored.number, self.audit.account.shape.fanout)
        parent = self._above.get(number, Page())
        if number in self._claims:
            self._claims[number] &= ~(1 << bit)
        if self.level:
            self.kept[stored.number] = stored.page
        return self.audit.link(stored, parent)

    def absent(self) -> Iterator[Finding]:
        """Yield disagreements of children that their parents mark full and that are not stored."""
        fanout = self.audit.account.shape.fanout
        for number, claims in self._claims.items():
            entries = self.audit.account.entries(self.level + 1, number)
            # Bits of a parent beyond its entries are a finding of their own (BEYOND_TOTAL).
            for bit in (bit for bit in range(entries) if claims >> bit & 1):
                child = Stored(self.level, number * fanout + bit, Page())
                yield from self.audit.link(child, self._above[number])


def _by_level(pages: Iterable[Stored]) -> Iterator[tuple[int, Iterable[Stored]]]:
    """Yield the pages of each level down to the leaves, empty for a level without stored pages."""
    below: int | None = None
    for level, of_level in groupby(pages, key=lambda stored: stored.level):
        yield from ((gap, ()) for gap in range(level if below is None else below, level, -1))
        yield level, of_level
        below = level - 1
    yield from ((gap, ()) for gap in range(-1 if below is None else below, -1, -1))
