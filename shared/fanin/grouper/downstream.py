"""The batch API that bundles are for: the interface that users implement, and a plain function as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, Protocol

from fanin.calling import done, has_text, is_failure, plain, text_of
from fanin.grouper.model import Outcome, Verdict

OK = Outcome(Verdict.OK)


@dataclass(frozen=True, slots=True)
class Member:
    """A task as the downstream API sees it."""

    task_id: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Call:
    """One call for one bundle. Its *idempotency_key* is the same for every attempt at it: an answer may be
    lost after the API did the work, and nobody but the API can tell a repetition from a new call."""

    tenant: str
    target: str
    bundle_id: str
    attempt: int
    members: tuple[Member, ...]

    @property
    def idempotency_key(self) -> str:
        return self.bundle_id


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API said: of *members* by task id, where it spoke of them, and of the *whole* for the others.

    ``Answer()`` is a success of all. An answer without *members* speaks of the bundle as one: ``RETRY`` has
    it called again after *retry_after* (or a backoff), ``FAIL`` has it taken apart to find the poison.
    """

    whole: Outcome = OK
    members: Mapping[str, Outcome] = field(default_factory=dict)
    retry_after: timedelta | None = None


class Downstream(Protocol):
    """A batch API."""

    def call(self, call: Call) -> Answer:
        """Do the work of all members in one request. Raises nothing: what went wrong is in the answer."""


class Retry(Exception):
    """Raised by a function: the call did not work, and may later. *after*: not sooner than that."""

    def __init__(self, reason: str, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Refused(Exception):
    """Raised by a function: the bundle as a whole will never be taken."""


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function as a batch API.

    It takes the call and returns the outcomes of members by task id (nothing: all succeeded). It raises
    Retry or Refused for the bundle as a whole; any other error counts as Retry.
    """

    function: Callable[[Call], Mapping[str, Outcome] | None]

    def __post_init__(self) -> None:
        """Refuse a function that does no work when it is called."""
        plain(self.function, "function")

    def call(self, call: Call) -> Answer:
        try:
            return Answer(members=done(self.function(call) or {}, "function"))
        except Retry as retry:
            return Answer(Outcome(Verdict.RETRY, _said(retry)), retry_after=retry.after)
        except Refused as refused:
            return Answer(Outcome(Verdict.FAIL, _said(refused)))
        except BaseException as error:  # a user's code: whatever it was, the bundle must go on
            if not is_failure(error):
                raise
            return Answer(Outcome(Verdict.RETRY, text_of(error)))


def _said(error: Retry | Refused) -> str:
    """The text of *error*; its kind where the text cannot be made."""
    return str(error) if has_text(error) else type(error).__name__


UNSET = "the stack's setting grouper_downstream names none for it"


@dataclass(frozen=True, slots=True)
class ByTarget:
    """A batch API for each pattern of targets; the first that fits is called."""

    patterns: Sequence[tuple[str, Downstream]]

    def call(self, call: Call) -> Answer:
        for pattern, downstream in self.patterns:
            if fnmatchcase(call.target, pattern):
                return downstream.call(call)
        return Answer(Outcome(Verdict.FAIL, f"no batch API is set for target {call.target}: {UNSET}"))
