"""Error texts for the patterns of the contract, so that no answer shows a regular expression."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fanin.api.cursors.list_cursors import CURSOR_FORM
from fanin.api.cursors.queue_cursors import ROW_CURSOR_FORM
from fanin.api.requests.bodies import ITEM_FORM, UUID_FORM
from fanin.api.requests.group_requests import TARGET_PATTERN, TASK_ID_PATTERN
from fanin.queue.rules.keys import QUEUE_FORM
from fanin.tracker.reads.progress_tokens import TOKEN_FORM
from fanin.tracker.rules.option_kinds import PRINTABLE
from fanin.tracker.rules.options import BASE64, CALLBACK_PATTERN, GRAPHIC

TOKEN_PATTERN = f"^{TOKEN_FORM}$"
KEY_PATTERN = r"^[\x20-\x7e]{1,128}$"
QUEUE_PATTERN = f"^{QUEUE_FORM.pattern}$"
NAME_FORM = "letters, digits, '.', '_' or '-', the first a letter or a digit"

PATTERN_TEXTS: Mapping[str, str] = {
    UUID_FORM: "not a UUID in lower case, 36 characters",
    ITEM_FORM: "not batchId:groupId:index, as add returned it",
    PRINTABLE: "it has a control character",
    CURSOR_FORM: "not a cursor of this list",
    ROW_CURSOR_FORM: "not a cursor or id of a list of this queue",
    KEY_PATTERN: "not 1 to 128 printable ASCII characters",
    TOKEN_PATTERN: "not a progress token, as it was returned",
    GRAPHIC: "not printable ASCII characters without spaces",
    BASE64: "not A-Z a-z 0-9 + or /, and up to two = at the end",
    TARGET_PATTERN: "not 1 to 128 letters, digits, '.', '_', '-' or '/', the first a letter or a digit",
    TASK_ID_PATTERN: f"not 1 to 64 {NAME_FORM}",
    QUEUE_PATTERN: f"not 1 to 80 {NAME_FORM}",
    CALLBACK_PATTERN: f"not 1 to 64 {NAME_FORM}",
}
"""A pattern, and the error text for a value that does not match it."""


def parameters_text(known: Collection[str]) -> str:
    """Return the query parameters of a route, for an error."""
    return f"it takes {', '.join(known)}" if known else "it takes none"
