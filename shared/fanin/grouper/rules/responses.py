"""The request and the response of a batch API, over HTTP or as an invocation of a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from fanin.errors import InvalidRequest
from fanin.grouper.rules.downstream import Answer, Call
from fanin.grouper.rules.model import Outcome, Verdict
from fanin.result_texts import RESULT_MAX, result_text

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
REFUSED_CREDENTIALS = frozenset({401, 403})
ANSWER_BYTES = 1_048_576
RETRY_AFTER_MAX = 900
VERDICTS = {"ok": Verdict.OK, "retry": Verdict.RETRY, "fail": Verdict.FAIL}
STRUCTURED = b"{[<"
"""A text with none of these can be no list of outcomes, cut off or wrapped, and no page."""
PAGE = "the response is a page, as of a login or a proxy, and no answer of the batch API"
MALFORMED = "the response is not of the form {results: [{taskId, outcome}]}"


def document(call: Call) -> dict[str, Any]:
    """Return the body of the request for a call."""
    tasks = [{"taskId": member.task_id, "payload": member.payload} for member in call.members]
    return {"bundleId": call.bundle_id, "target": call.target, "attempt": call.attempt, "tasks": tasks}


def answer_of(body: bytes, hide: Callable[[str], str] = str) -> Answer:
    """Return the answer of a call that succeeded; *hide* removes credentials from a detail."""
    if len(body) > ANSWER_BYTES:
        return retried(f"the response is longer than {ANSWER_BYTES} bytes")
    try:
        return Answer(members=results(body, hide))
    except (ValueError, TypeError, KeyError, RecursionError, InvalidRequest):
        return retried(PAGE if body.lstrip()[:1] == b"<" else MALFORMED)


def refusal_of(status: int, after: timedelta | None = None) -> Answer:
    """Return the answer of a call that ended with *status*, which is not a success."""
    if status in RETRIED:
        return retried(f"status {status}", after)
    return Answer(Outcome(Verdict.FAIL, f"status {status}"))


def retried(detail: str, after: timedelta | None = None) -> Answer:
    """Return the answer of a call that is made again, because of *detail*."""
    return Answer(Outcome(Verdict.RETRY, detail), retry_after=after)


def results(body: bytes, hide: Callable[[str], str] = str) -> dict[str, Outcome]:
    """Return the outcomes that a body names, by task id: none if it is empty, a text or other JSON.

    Raises an error of any type if it is a page, or if it may name outcomes in another form, which would be
    lost: broken JSON, or "outcome" outside of *results*.
    """
    document = _document(body)
    if not isinstance(document, dict) or "results" not in document:
        if "outcome" in json.dumps(document).lower():
            raise ValueError("outcomes in another form")
        return {}
    named = document["results"]
    found = {_text(each["taskId"]): _outcome(each, hide) for each in named}
    if len(found) != len(named):
        raise ValueError("a task has two outcomes")
    return found


def _outcome(row: Mapping[str, Any], hide: Callable[[str], str]) -> Outcome:
    """Return the outcome of a task; a failure, if its result is longer than that of an item may be."""
    verdict, detail = VERDICTS[row["outcome"]], hide(str(row.get("detail") or ""))
    if verdict is not Verdict.OK:
        return Outcome(verdict, detail)
    result = result_text(row.get("result"))
    if result is not None and len(result) > RESULT_MAX:
        too_long = f"the result has {len(result):,} bytes of JSON, more than {RESULT_MAX:,}"
        return Outcome(Verdict.FAIL, too_long)
    return Outcome(verdict, detail, result)


def _document(body: bytes) -> Any:
    """Return the JSON value of *body*, or its text. Raises ValueError or RecursionError if it is neither."""
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except ValueError:
        if any(mark in body for mark in STRUCTURED):
            raise
        return body.decode(errors="replace")


def _text(task_id: Any) -> str:
    """Return *task_id*. Raises TypeError if it is no text: of an unknown id the outcome would be lost."""
    if not isinstance(task_id, str):
        raise TypeError("a task id is a text")
    return task_id


def retry_after(text: str | None) -> timedelta | None:
    """Return the header as a duration of at most 900 s; None if it is not a number of seconds."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return timedelta(seconds=min(int(text), RETRY_AFTER_MAX))
