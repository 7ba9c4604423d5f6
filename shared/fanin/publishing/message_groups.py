"""The names of message groups, among which SQS shares the consumers of a queue."""

from __future__ import annotations

import re

from fanin.errors import InvalidRequest

GROUP = re.compile("[!-~]{1,128}")


def message_group(text: str) -> str:
    """Return *text*, the name of a message group. Raises InvalidRequest for what SQS refuses."""
    if not GROUP.fullmatch(text):
        raise InvalidRequest(
            "a message group is 1 to 128 letters, digits and signs of ASCII, without spaces", field="group"
        )
    return text
