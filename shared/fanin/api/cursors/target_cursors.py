"""Cursors of the lists of tasks and targets."""

from __future__ import annotations

import re

from fanin.api.cursors import list_cursors as cursors
from fanin.grouper.listing import BundledPlace, WaitingPlace
from fanin.grouper.rules.ids import TARGET_FORM, TASK_ID_FORM

BUNDLED_BYTES = 16
WAITING_MARK, TARGET_MARK = b"wait:", b"target:"
WAITING_ORDER = re.compile(rf"([0-9]{{3}}#[0-9]{{16}}#{TASK_ID_FORM.pattern})?")


def of_bundled(resume: BundledPlace | None) -> str | None:
    """Return the cursor of a position in a list of bundled tasks."""
    if resume is None:
        return None
    fence = cursors.NO_FENCE if resume.fence is None else resume.fence
    return cursors.text_of(_number(resume.shard, 4) + _number(fence, 8) + _number(resume.member, 4))


def bundled_at(cursor: str | None) -> BundledPlace:
    """Return the position of *cursor* in a list of bundled tasks; None: the first. Raises InvalidRequest."""
    if cursor is None:
        return BundledPlace()
    raw = cursors.bytes_of(cursor, BUNDLED_BYTES)
    shard, fence, member = (int.from_bytes(part, "big") for part in (raw[:4], raw[4:12], raw[12:]))
    return BundledPlace(shard, None if fence == cursors.NO_FENCE else fence, member)


def of_waiting(resume: WaitingPlace | None) -> str | None:
    """Return the cursor of a position in a list of waiting tasks."""
    if resume is None:
        return None
    return cursors.text_of(WAITING_MARK + _number(resume.shard, 4) + (resume.order or "").encode())


def waiting_at(cursor: str | None) -> WaitingPlace:
    """Return the position of *cursor* in a list of waiting tasks; None: the first. Raises InvalidRequest."""
    if cursor is None:
        return WaitingPlace()
    raw = cursors.bytes_of(cursor)
    shard, order = raw[5:9], raw[9:].decode("ascii", "replace")
    if not raw.startswith(WAITING_MARK) or len(shard) < 4 or not WAITING_ORDER.fullmatch(order):
        raise cursors.refused()
    return WaitingPlace(int.from_bytes(shard, "big"), order or None)


def of_target(resume: str | None) -> str | None:
    """Return the cursor of a position in a list of targets."""
    return None if resume is None else cursors.text_of(TARGET_MARK + resume.encode())


def target_at(cursor: str | None) -> str | None:
    """Return the target of *cursor*, after which the page begins. Raises InvalidRequest."""
    if cursor is None:
        return None
    raw = cursors.bytes_of(cursor)
    target = raw[len(TARGET_MARK) :].decode("ascii", "replace")
    if not raw.startswith(TARGET_MARK) or not TARGET_FORM.fullmatch(target):
        raise cursors.refused()
    return target


def _number(value: int, length: int) -> bytes:
    return value.to_bytes(length, "big")
