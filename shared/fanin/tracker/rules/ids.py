"""Ids that describe themselves, made and parsed side by side.

A batch id is a canonical UUID. A group id is a UUID of version 8 (RFC 9562, 5.8) whose 122 free bits
carry ``start`` (40 bits), ``upto - 1`` (36 bits) and a tag of 46 bits, a hash of both under the batch's
secret salt: an ack needs no look-up of its group, and a forged or foreign id is refused before any
write. The index of an item id is from 0 to ``upto - 1``.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from uuid import UUID

from fanin.errors import InvalidRequest
from fanin.item_ids import UUID_FORM

COUNT_MAX = 2**36
"""Items that one add may reserve."""
TOTAL_MAX = 2**40
"""Items that one batch may hold."""

_TAG_BITS = 46
_COUNT_BITS = 36


def checked_batch_id(text: str) -> str:
    """*text*, where it is a batch id in its one canonical form; InvalidRequest where it is not."""
    if not UUID_FORM.fullmatch(text):
        raise InvalidRequest(
            f"a batch id is a UUID in lower case, 36 characters, not {text!r:.60}", field="batchId"
        )
    return text


@dataclass(frozen=True, slots=True)
class GroupId:
    """What one add reserved: the items ``start`` to ``start + upto - 1`` of its batch."""

    start: int
    upto: int
    tag: int

    @classmethod
    def make(cls, salt: bytes, batch_id: str, start: int, upto: int) -> GroupId:
        """The id of a reservation, tagged under the batch's *salt*."""
        return cls(start, upto, _tag(salt, batch_id, start, upto))

    @classmethod
    def decode(cls, text: str) -> GroupId | None:
        """The group that *text* claims to be; None where it is no UUID of version 8 in lower case."""
        if not UUID_FORM.fullmatch(text):
            return None
        value = UUID(text).int
        if value >> 76 & 0xF != 8 or value >> 62 & 0b11 != 0b10:
            return None
        payload = (value >> 80) << 74 | (value >> 64 & 0xFFF) << 62 | value & (1 << 62) - 1
        upto = (payload >> _TAG_BITS & (1 << _COUNT_BITS) - 1) + 1
        return cls(payload >> _TAG_BITS + _COUNT_BITS, upto, payload & (1 << _TAG_BITS) - 1)

    def is_of(self, salt: bytes, batch_id: str) -> bool:
        """Whether the batch with this *salt* handed this id out."""
        expected = _tag(salt, batch_id, self.start, self.upto)
        return hmac.compare_digest(self.tag.to_bytes(6, "big"), expected.to_bytes(6, "big"))

    def __str__(self) -> str:
        return _version_8((self.start << _COUNT_BITS | self.upto - 1) << _TAG_BITS | self.tag)


def _tag(salt: bytes, batch_id: str, start: int, upto: int) -> int:
    text = f"{batch_id}:{start}:{upto}".encode()
    return int.from_bytes(hashlib.blake2b(text, key=salt, digest_size=8).digest(), "big") >> 64 - _TAG_BITS


def _version_8(payload: int) -> str:
    """The UUID of version 8 whose 122 free bits are *payload*."""
    high, low = payload >> 62, payload & (1 << 62) - 1
    return str(UUID(int=(high >> 12) << 80 | 8 << 76 | (high & 0xFFF) << 64 | 0b10 << 62 | low))
