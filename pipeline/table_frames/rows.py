"""Parses one row of the tracker's tables strictly: a page, a batch, another row, or an error. Pure.

Rows are DynamoDB JSON, from an export or a Scan. Other rows of a batch (receipts, groups, reasons, keys) are
skipped.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from fanin.errors import FaninError, NewerSchema
from fanin.tracker.dynamodb.items import BATCH_ROW, batch_of, page_of
from fanin.tracker.rules.model import Batch, BatchKey, PageKey
from fanin.tracker.rules.options import LIFETIME_MAX
from fanin.tracker.rules.page import DIGIT_BITS, DIGIT_MAX, PAGE_BITS_MAX, Page
from pipeline.shared_by_jobs import bitmaps
from pipeline.shared_by_jobs.schemas import BATCHES

Item: TypeAlias = Mapping[str, Mapping[str, Any]]
Facts: TypeAlias = dict[str, Any]

DIGITS = -(-PAGE_BITS_MAX // DIGIT_BITS)
_PAGE_KEY = re.compile(
    r"(?s:(.+))#([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})#(0|[1-9]\d?)#(0|[1-9]\d{0,12})",
    re.ASCII,
)
_DIGIT_NAME = re.compile(r"[dx](0|[1-9]\d{0,2})", re.ASCII)
_VALUES = [frozenset(map(str, range(1 << bits))) for bits in range(DIGIT_BITS + 1)]
_DIGIT_VALUES = {
    f"{family}{place}": _VALUES[min(DIGIT_BITS, PAGE_BITS_MAX - place * DIGIT_BITS)]
    for family in "dx"
    for place in range(DIGITS)
}
"""The texts that each digit can have; the last digit has fewer bits."""
_WHOLE = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


class MalformedRow(ValueError):
    """A row that the tracker cannot have written."""


def from_json(item: Item) -> Item:
    """Return *item* as boto3 would; binary values are Base64 in the JSON of an export."""
    return {name: {"B": b64decode(v["B"], validate=True)} if "B" in v else v for name, v in item.items()}


def read_row(item: Item) -> tuple[Facts | None, Facts | None]:
    """Return (page, None) or (None, batch), with the columns of PAGES and BATCHES; (None, None) for others.

    Raises MalformedRow if the tracker cannot have written the row, NewerSchema if a newer release wrote it.
    """
    try:
        if "sk" not in item:
            return _page(item), None
        return None, _batch(item) if item["sk"]["S"] == BATCH_ROW else None
    except KeyError as error:
        raise MalformedRow(f"there is no {error.args[0]}, or it is of another type") from error
    except NewerSchema:
        raise
    except (ValueError, TypeError, AttributeError, OverflowError, FaninError) as error:
        raise MalformedRow(str(error)) from error


def _page(item: Item) -> Facts:
    key = _PAGE_KEY.fullmatch(item["pk"]["S"])
    if not key:
        raise MalformedRow("its key is not tenant#batch#level#page")
    _check_numbers(item)
    return facts_of_page(PageKey(BatchKey(key[1], key[2]), int(key[3]), int(key[4])), page_of(dict(item)))


def facts_of_page(key: PageKey, page: Page) -> Facts:
    """Return *page* as a row of PAGES."""
    # A page of an estimated batch counts more items than a page has bits.
    full = PAGE_BITS_MAX if page.size is None else min(page.size, PAGE_BITS_MAX)
    return {
        "tenant": key.batch.tenant,
        "batch_id": key.batch.batch_id,
        "level": key.level,
        "page": key.number,
        "n": page.n,
        "size": page.size,
        "root": page.root,
        "compacted": page.compacted,
        "bits": bitmaps.ones(full) if page.compacted else bitmaps.from_mask(page.bits),
        "failed": bitmaps.from_mask(page.failed),
    }


def _check_numbers(item: Item) -> None:
    """Raise MalformedRow for a number that is not whole, or a digit that would overflow into the next."""
    for name, value in item.items():
        if name in ("n", "size"):
            _whole(name, value["N"])
        elif name in _DIGIT_VALUES:
            if value["N"] not in _DIGIT_VALUES[name]:
                _refuse_digit(name, _whole(name, value["N"]))
        elif _DIGIT_NAME.fullmatch(name):
            _refuse_digit(name, _whole(name, value["N"]))


def _refuse_digit(name: str, value: int) -> None:
    raise MalformedRow(f"digit {name} is {value}; there are {DIGITS} of 0 to {DIGIT_MAX}")


def _whole(name: str, value: str) -> int:
    if not _WHOLE.fullmatch(value):
        raise MalformedRow(f"{name} is {value!r}; expected a whole number")
    return int(value)


def _batch(item: Item) -> Facts:
    batch = batch_of(dict(item))
    if item["pk"]["S"] != str(batch.key):
        raise MalformedRow("its key is not that of its tenant and batch")
    return facts_of(batch)


def facts_of(batch: Batch) -> Facts:
    """Return *batch* as a row of BATCHES."""
    return {name: getattr(batch, name) for name in BATCHES.names} | {
        "state": str(batch.state),
        "mode": str(batch.mode),
    }


def may_be_gone(facts: Mapping[str, Any], at: datetime) -> bool:
    """Return whether pages of a batch, a row of BATCHES, may have been deleted by age at time *at*."""
    return bool(facts["created_at"] + LIFETIME_MAX <= at)
