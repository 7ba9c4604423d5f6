"""The forms of names, and the names that follow from others."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from uuid import UUID, uuid5

from fanin.errors import InvalidRequest

TASK_ID_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TARGET_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
BUNDLE_ID_FORM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BUNDLES = UUID("6f0a5a43-2f67-5a0e-9d0c-5a5b0f6a7d11")


def checked_task_id(text: str) -> str:
    """*text*, where it may name a task; InvalidRequest where it may not."""
    if not TASK_ID_FORM.fullmatch(text):
        raise InvalidRequest("a task id is 1 to 64 letters, digits, '.', '_' or '-'", field="taskId")
    return text


def checked_target(text: str) -> str:
    """*text*, where it may name a target; InvalidRequest where it may not."""
    if not TARGET_FORM.fullmatch(text):
        raise InvalidRequest("a target is 1 to 128 letters, digits, '.', '_' or '-'", field="target")
    return text


def checked_bundle_id(text: str) -> str:
    """*text*, where it is a bundle id in its one canonical form; InvalidRequest where it is not."""
    if not BUNDLE_ID_FORM.fullmatch(text):
        raise InvalidRequest("a bundle id is a UUID in lower case, 36 characters", field="bundleId")
    return text


@lru_cache(maxsize=10_000)
def bundle_id(lane: str, fence: int) -> str:
    """The one bundle that the term *fence* of a lane may fill; its successor can name it, too."""
    return str(uuid5(_BUNDLES, f"{lane}#{fence}"))


def slot_of(name: str, slots: int) -> int:
    """Which of *slots* equal parts *name* falls into, the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % slots
