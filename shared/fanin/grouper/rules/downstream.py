"""The interface of a batch API, which users implement, and its implementation by a plain function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, Protocol

from fanin.grouper.rules.model import Outcome, Verdict
from fanin.user_functions import failed_for_good, finished, is_failure, own_text, synchronous, text_of

OK = Outcome(Verdict.OK)


@dataclass(frozen=True, slots=True)
class Member:
    """A task as the batch API receives it."""

    task_id: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Call:
    """One call for one bundle.

    Its *idempotency_key* is the same for every attempt: a response may be lost after the API did the work,
    and only the API can recognise the repetition. *timeout*: how long it may take; None for the timeout of
    the batch API. *longest*: how long it may take at most, whatever the timeout.
    """

    tenant: str
    target: str
    bundle_id: str
    attempt: int
    members: tuple[Member, ...]
    timeout: timedelta | None = None
    longest: timedelta = timedelta.max

    def seconds(self, usual: float) -> float:
        """Return the timeout in seconds; *usual*: that of the batch API."""
        timeout = timedelta(seconds=usual) if self.timeout is None else self.timeout
        return min(timeout, self.longest).total_seconds()

    @property
    def idempotency_key(self) -> str:
        """The id of the bundle."""
        return self.bundle_id


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a batch API: outcomes of single *members* by task id; *whole* applies to the others.

    ``Answer()`` is a success of all. Without *members* the answer applies to the bundle: after ``RETRY`` it
    is called again after *retry_after* or a backoff, after ``FAIL`` it is divided to find the failing task.
    """

    whole: Outcome = OK
    members: Mapping[str, Outcome] = field(default_factory=dict)
    retry_after: timedelta | None = None

    def about(self, members: Collection[str]) -> Answer:
        """Return this answer to a call for *members*; a retry if it names another task.

        The outcome of that task would be lost, and whichever member was meant would succeed.
        """
        unknown = self.members.keys() - set(members)
        if not unknown:
            return self
        named = f"{len(unknown)} of the {len(self.members)} tasks that the response names"
        return Answer(Outcome(Verdict.RETRY, f"not of this bundle: {named}"))


class Downstream(Protocol):
    """A batch API."""

    def call(self, call: Call) -> Answer:
        """Process all members in one request. Return errors in the answer; raise nothing."""


class Retry(Exception):
    """Raised by a function: the call failed and is to be repeated, after the duration *after* if given."""

    def __init__(self, reason: str, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Refused(Exception):
    """Raised by a function: the bundle as a whole is refused; do not repeat the call."""


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function as a batch API.

    The function takes the call and returns the outcomes of members by task id; None or an empty mapping means
    that all succeeded. It raises Retry or Refused for the whole bundle; ``fanin.Failed`` counts as Refused,
    so that a member which is alone fails for good, and several are divided. Any other error counts as Retry,
    and so does any other result, such as False or a response of HTTP.
    """

    function: Callable[[Call], Mapping[str, Outcome] | None]

    def __post_init__(self) -> None:
        """Refuse a function that does no work when it is called."""
        synchronous(self.function, "function")

    def call(self, call: Call) -> Answer:
        try:
            return Answer(members=_outcomes(finished(self.function(call), "function")))
        except Retry as retry:
            return Answer(Outcome(Verdict.RETRY, own_text(retry)), retry_after=retry.after)
        except Refused as refused:
            return Answer(Outcome(Verdict.FAIL, own_text(refused)))
        except BaseException as error:  # of the user's code: the bundle is called again
            if not is_failure(error):
                raise
            if (failed := failed_for_good(error)) is not None:
                return Answer(Outcome(Verdict.FAIL, own_text(failed)))
            return Answer(Outcome(Verdict.RETRY, text_of(error)))


def _outcomes(result: Any) -> Mapping[str, Outcome]:
    """Return what a function returned. Raises TypeError if it is neither None nor outcomes by task id."""
    if result is None:
        return {}
    if isinstance(result, Mapping) and all(isinstance(each, Outcome) for each in result.values()):
        return result
    raise TypeError(f"the function returned {type(result).__name__}; return outcomes by task id, or None")


UNSET = "add a pattern for it to the stack's setting grouper_downstream"


@dataclass(frozen=True, slots=True)
class ByTarget:
    """A batch API for each pattern of targets; calls the first whose pattern matches."""

    patterns: Sequence[tuple[str, Downstream]]

    def call(self, call: Call) -> Answer:
        for pattern, downstream in self.patterns:
            if fnmatchcase(call.target, pattern):
                return downstream.call(call)
        return Answer(Outcome(Verdict.FAIL, f"no batch API is set for target {call.target}: {UNSET}"))
