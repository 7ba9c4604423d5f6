"""Refusals of the servers beside the API, the local run and the dashboard, as problem documents of RFC 9457.

Those of the API itself: ``fanin/api/problems.py``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request has no other answer: the fields of a problem document. *namespace*: of its type."""

    status: int
    name: str
    title: str
    detail: str
    namespace: str = "problem"

    def document(self) -> bytes:
        """Return the body of the answer."""
        kind = f"urn:fanin:{self.namespace}:{self.name}"
        known = {"type": kind, "title": self.title, "status": self.status, "detail": self.detail}
        return json.dumps(known).encode()
