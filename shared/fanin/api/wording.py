"""The patterns of the contract in words: nobody has to read a regular expression to mend a request."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fanin.api.cursors import CURSOR_FORM
from fanin.api.group_requests import TARGET_PATTERN, TASK_ID_PATTERN
from fanin.api.requests import ITEM_FORM, UUID_FORM
from fanin.queue.keys import QUEUE_FORM
from fanin.tracker.reasons import PRINTABLE

KEY_PATTERN = r"^[\x20-\x7e]{1,128}$"
QUEUE_PATTERN = f"^{QUEUE_FORM.pattern}$"
NAMED = "letters, digits, '.', '_' or '-', the first a letter or a digit"

IN_WORDS: Mapping[str, str] = {
    UUID_FORM: "not a UUID in lower case, 36 characters",
    ITEM_FORM: "not batchId:groupId:index, as add gave it",
    PRINTABLE: "there is a control character in it",
    CURSOR_FORM: "not a cursor that this list gave",
    KEY_PATTERN: "not 1 to 128 printable ASCII characters",
    TARGET_PATTERN: f"not 1 to 128 {NAMED}",
    TASK_ID_PATTERN: f"not 1 to 64 {NAMED}",
    QUEUE_PATTERN: f"not 1 to 80 {NAMED}",
}
"""A pattern, and what is wrong with a text that it does not match."""


def parameters_in_words(known: Collection[str]) -> str:
    """What a route takes in its query."""
    return f"it takes {', '.join(known)}" if known else "it takes none"
