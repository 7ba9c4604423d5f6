"""Formats of ids, and ids that are derived from others."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from uuid import UUID, uuid5

from fanin.errors import InvalidRequest

LIMIT_MAX = 1000
TASK_ID_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TARGET_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
BUNDLE_ID_FORM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BUNDLES = UUID("6f0a5a43-2f67-5a0e-9d0c-5a5b0f6a7d11")


def checked_task_id(text: str) -> str:
    """Return *text* if it is a valid task id; raise InvalidRequest if not."""
    if not TASK_ID_FORM.fullmatch(text):
        raise InvalidRequest(
            "a task id is 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'", field="taskId"
        )
    return text


def checked_target(text: str) -> str:
    """Return *text* if it is a valid target; raise InvalidRequest if not."""
    if not TARGET_FORM.fullmatch(text):
        raise InvalidRequest(
            "a target is 1 to 128 characters of A-Z, a-z, 0-9, '.', '_', '-' and '/', and begins with one"
            " of A-Z, a-z and 0-9",
            field="target",
        )
    return text


def checked_bundle_id(text: str) -> str:
    """Return *text* if it is a bundle id in canonical form; raise InvalidRequest if not."""
    if not BUNDLE_ID_FORM.fullmatch(text):
        raise InvalidRequest("a bundle id is a UUID in lower case, 36 characters", field="bundleId")
    return text


def checked_limit(limit: int) -> int:
    """Return *limit*; raise InvalidRequest if a list cannot have it."""
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidRequest(f"limit must be 1 to {LIMIT_MAX}", field="limit")
    return limit


@lru_cache(maxsize=10_000)
def bundle_id(lane: str, fence: int) -> str:
    """Return the id of the bundle that the term *fence* of a lane fills.

    It is derived from the term, so the next leader can seal that bundle without having read it.
    """
    return str(uuid5(_BUNDLES, f"{lane}#{fence}"))


def slot_of(name: str, slots: int) -> int:
    """Return the slot of *name*, 0 to *slots* - 1: a hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % slots
