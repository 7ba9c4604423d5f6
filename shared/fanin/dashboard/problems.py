"""Refusals of the dashboard itself, as problem documents of RFC 9457."""

from __future__ import annotations

import json
from dataclasses import dataclass

PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request has no other answer: the fields of a problem document."""

    status: int
    name: str
    title: str
    detail: str

    def document(self) -> bytes:
        """Return the body of the answer."""
        kind = f"urn:fanin:dashboard:{self.name}"
        known = {"type": kind, "title": self.title, "status": self.status, "detail": self.detail}
        return json.dumps(known).encode()


MISDIRECTED = Refusal(
    421,
    "misdirected-request",
    "This server answers to its loopback address only",
    "open the address that `fanin dashboard` printed",
)
NOT_OPENED = Refusal(
    401,
    "not-opened",
    "This browser has not opened the dashboard",
    "the address that `fanin dashboard` printed works once; run the command again for a new one",
)
FOREIGN = Refusal(
    403,
    "foreign-request",
    "Only the dashboard's own page may ask this",
    "a write needs the header X-Fanin-Dashboard and the page's own Origin",
)
READ_ONLY = Refusal(
    405,
    "read-only",
    "The dashboard is read-only",
    "start it with --allow-writes to close, cancel and notify",
)
NO_METHOD = Refusal(405, "method-not-allowed", "The dashboard has no such method", "it answers GET and POST")
NOT_FOUND = Refusal(404, "not-found", "The dashboard has no such page", "its page is at /")
BODY_TOO_LARGE = Refusal(
    413, "too-large", "The body is too large", "a body of a write has at most 4,096 bytes"
)
NO_LENGTH = Refusal(
    411, "no-length", "The body has no length", "send Content-Length, and no Transfer-Encoding"
)
