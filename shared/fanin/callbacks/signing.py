"""The signature of a webhook's request. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable


def signature(keys: Iterable[str], at: int, body: bytes) -> str:
    """Return the header ``Fanin-Signature``: the time in seconds, and an HMAC-SHA256 by each key.

    Each is ``v1=`` and the hex digest of ``<at>.<body>``; a receiver accepts the request if one matches.
    """
    signed = f"{at}.".encode() + body
    digests = (hmac.new(key.encode(), signed, hashlib.sha256).hexdigest() for key in keys)
    return ",".join([f"t={at}", *(f"v1={digest}" for digest in digests)])
