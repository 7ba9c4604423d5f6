"""The form of a reason, which a failure and a cancellation may have."""

from __future__ import annotations

import re

REASON_MAX = 512
"""Characters of a reason."""
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""Matches a text without control characters."""
_PRINTABLE = re.compile(PRINTABLE)


def is_reason(text: str) -> bool:
    """Return whether *text* has 1 to 512 characters, none of them a control character."""
    return 1 <= len(text) <= REASON_MAX and _PRINTABLE.fullmatch(text) is not None
