"""A store that counts: the requests are those of production, and the rows lie in memory.

Every request is built by ``fanin.tracker.dynamodb.requests`` and applied by ``MemoryStore``, which holds the
same conditions; ``lab/tests/test_ways_to_ack.py`` compares the counts with those of moto.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanin.aws.dynamodb.reading import KEYS_A_READ
from fanin.cost import Usage
from fanin.cost.rules import WRITE_STEP, write_units
from fanin.tracker.dynamodb import items, requests
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import Batch, BatchKey, PageKey
from fanin.tracker.rules.page import PAGE_BITS_MAX, Page, PageMasks, digits, mask_of
from fanin.tracker.store import Written

TABLE = "Pages"
SAMPLED = 50
"""The bytes of one in so many writes are measured, because that takes longer than the write."""
SECONDS_OF_TTL = "1830000000"


@dataclass
class Counts:
    """What requests came to. *refused*: writes whose condition failed; *sent*, *returned*: bytes of JSON."""

    requests: int = 0
    writes: int = 0
    reads: int = 0
    refused: int = 0
    sent: float = 0
    returned: float = 0

    @property
    def usage(self) -> Usage:
        """The request units."""
        return Usage({"write_unit": self.writes, "read_unit": self.reads})


def row_of(key: PageKey, page: Page) -> dict[str, Any]:
    """Return the row of a page without failures."""
    row = dict(items.page_key(key)) | {"n": {"N": str(page.n)}, "ttl": {"N": SECONDS_OF_TTL}}
    return row | {f"d{digit}": {"N": str(value)} for digit, value in digits(page.bits)}


class CountedStore:
    """Sends requests to *memory*, calls *switch* before each is applied, and counts.

    A page without failures is a row of at most 1 KB, full or not, so a write to it is one unit.
    """

    def __init__(self, memory: MemoryStore, switch: Callable[[], None]) -> None:
        self.memory, self.switch, self.counts = memory, switch, Counts()

    def create_pages(self, pages: Mapping[PageKey, Page], expires_at: datetime) -> Collection[PageKey]:
        self.switch()
        created = self.memory.create_pages(pages, expires_at)
        statements = [requests.create_page(TABLE, key, page, expires_at) for key, page in pages.items()]
        self.counts.requests += 1
        self.counts.writes += len(pages)
        self.counts.refused += len(pages) - len(created)
        self.counts.sent += len(json.dumps(statements))
        self.counts.returned += len(json.dumps([{"TableName": TABLE}] * len(pages)))
        return created

    def add_bits(self, key: PageKey, masks: PageMasks, expires_at: datetime) -> Written:
        return self._write(requests.add_bits, self.memory.add_bits, key, masks, expires_at)

    def replace_bits(
        self,
        key: PageKey,
        seen: Page,
        masks: PageMasks,
        expires_at: datetime,
        fills: bool = False,
        inner: bool = False,
    ) -> Written:
        write = requests.replace_bits, self.memory.replace_bits
        return self._write(*write, key, seen, masks, expires_at, fills, inner)

    def compact(self, key: PageKey, count: int) -> None:
        request = requests.compact(TABLE, key, count)
        self.switch()
        self.memory.compact(key, count)
        self._wrote(request, Written(Page(), applied=True), key)

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        self.switch()
        found = self.memory.pages(keys, bits)
        self.counts.requests += -(-len(keys) // KEYS_A_READ)
        self.counts.reads += len(keys)
        self.counts.sent += sum(len(json.dumps(items.page_key(key))) for key in keys)
        self.counts.returned += sum(len(json.dumps(row_of(key, page))) for key, page in found.items())
        return found

    def get(self, key: BatchKey) -> Batch | None:
        self.switch()
        self.counts.requests += 1
        self.counts.reads += 1
        return self.memory.get(key)

    def __getattr__(self, name: str) -> Any:
        """Return the method of the store for what is not counted: opening and adding."""
        return getattr(self.memory, name)

    def _write(self, build: Callable[..., Any], apply: Callable[..., Written], *args: Any) -> Written:
        request = build(TABLE, *args)
        self.switch()
        written = apply(*args)
        self._wrote(request, written, args[0])
        return written

    def _wrote(self, request: Any, written: Written, key: PageKey) -> None:
        counts = self.counts
        counts.requests += 1
        counts.writes += 1
        counts.refused += not written.applied
        if counts.writes % SAMPLED == 0:
            counts.sent += SAMPLED * len(json.dumps(request))
            counts.returned += SAMPLED * len(json.dumps(row_of(key, written.page)))


def longest_row(key: PageKey) -> int:
    """Return the units of a write to a full page; raise AssertionError if they are not those of any page."""
    full = row_of(key, Page(bits=mask_of(0, PAGE_BITS_MAX - 1), n=PAGE_BITS_MAX))
    units = write_units(full, None)
    assert units == 1, f"a full page is longer than {WRITE_STEP} bytes"
    return units
