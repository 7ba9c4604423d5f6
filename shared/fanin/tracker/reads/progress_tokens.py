"""Progress tokens: a token lets its holder read the progress of one batch, until it expires.

It names the batch, the expiry and the tenant, and has an HMAC of them under the secret salt of the batch. So
no key is kept for tokens, that of one batch signs for no other, and a token is void without the batch's row.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

from fanin.item_ids import UUID_FORM
from fanin.tracker.rules.model import Batch, BatchKey

LIFETIME = timedelta(hours=1)
LIFETIME_MAX = timedelta(days=7)
TENANT_MAX = 255
"""Characters of a tenant."""
TOKEN_FORM = rf"{UUID_FORM.pattern}\.[1-9][0-9]{{9}}\.[A-Za-z0-9_-]{{2,1360}}\.[A-Za-z0-9_-]{{43}}"
"""Batch, seconds since 1970, tenant, and 256 bits."""
PURPOSE = b"fanin progress token 1\n"
"""Keeps these signatures apart from all others under a salt."""


@dataclass(frozen=True, slots=True)
class ProgressToken:
    """A token for the batch *key* until *expires_at*, in whole seconds. *signature*: as its text has it."""

    key: BatchKey
    expires_at: datetime
    signature: str = field(repr=False)

    @classmethod
    def of(cls, batch: Batch, expires_at: datetime) -> Self:
        """Return the token of *batch* that expires at *expires_at*, or within the second before."""
        at = expires_at.replace(microsecond=0)
        return cls(batch.key, at, _signature(batch.salt, _claims(batch.key, at)))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return what *text* claims to be; None unless it is the one form of a token, with a tenant."""
        if not re.fullmatch(TOKEN_FORM, text):
            return None
        batch_id, seconds, name, signature = text.split(".")
        tenant = _decoded(name)
        if tenant is None or not tenant.isprintable() or len(tenant) > TENANT_MAX:
            return None
        found = cls(BatchKey(tenant, batch_id), datetime.fromtimestamp(int(seconds), UTC), signature)
        return found if str(found) == text else None

    def is_of(self, batch: Batch) -> bool:
        """Return whether *batch* signed it."""
        expected = _signature(batch.salt, _claims(self.key, self.expires_at))
        return self.key == batch.key and hmac.compare_digest(self.signature, expected)

    def __str__(self) -> str:
        return f"{_claims(self.key, self.expires_at)}.{self.signature}"


def _claims(key: BatchKey, expires_at: datetime) -> str:
    return f"{key.batch_id}.{int(expires_at.timestamp())}.{_encoded(key.tenant.encode())}"


def _signature(salt: bytes, claims: str) -> str:
    return _encoded(hmac.new(salt, PURPOSE + claims.encode(), hashlib.sha256).digest())


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> str | None:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return None
