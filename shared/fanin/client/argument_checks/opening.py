"""The options of ``Fanin.open``, and the request that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from fanin.arguments import Seconds
from fanin.client.argument_checks.naming import named_as_arguments
from fanin.client.tracing import traceparent
from fanin.tracker import ItemId, Mode, OpenBatch, Retention
from fanin.tracker.rules.options import OPTIONS, Threshold
from fanin.types import ModeText, NotifyAtText, OnFailuresText, ParentFailsOnText


class PublishedOptions(TypedDict, total=False):
    """The options of a batch that a publication takes, too: see ``OpenOptions``."""

    mode: Mode | ModeText
    deadline: Seconds | None
    parent: str | ItemId | None
    parent_fails_on: ParentFailsOnText
    max_failures: int | None
    max_failure_percent: int | None
    failure_sample: int | None
    min_succeeded: int | None
    min_succeeded_percent: int | None
    max_items: int | None
    max_cost: float | None
    retention: Retention | None
    callback: str | None
    notify_at: Iterable[Threshold | NotifyAtText]
    stuck_after: Seconds | None
    task_token: str | None
    durable_callback_id: str | None
    on_failures: OnFailuresText
    results: bool
    traceparent: str | None


class OpenOptions(PublishedOptions, total=False):
    """The options of a batch. One that is left out has its default: see ``tracker/rules/options.py``.

    *mode*: ``exact`` or ``estimated``. *expected_items*: the least that close accepts; it takes more, with a
    warning in the log. *deadline*: from now, 1 s to 400 days, in whole seconds or as a timedelta, as is
    *stuck_after*. *parent*: an item of another batch that gets the result of this one; *parent_fails_on*: the
    end that fails it, ``failed``, ``any`` or ``never``. *max_failures*: failed items that end the batch;
    *max_failure_percent*: 1 to 100, of the final total; from *failure_sample* acked items on, also of those.
    *min_succeeded*, *min_succeeded_percent*: as many succeeded items end the batch as ``enough``.
    *max_items*, *max_cost* (dollars): an add that would pass them is refused. *labels*: yours, to find it.
    *callback*: gets its events. *notify_at*, *stuck_after*: the events while it is live, docs/callbacks.md.
    *task_token*, *durable_callback_id*: of a Step Functions task or a durable function that goes on when the
    batch has ended; *on_failures*: ``succeed`` or ``fail`` it if items failed. *results*: keep what the work
    of each item returns: docs/results.md. *traceparent*: for the ending event; by default that of
    OpenTelemetry's current span: docs/traces.md.
    """

    expected_items: int | None
    labels: Mapping[str, str] | None


NAMES = {option.argument: name for name, option in OPTIONS.items()}
"""The options by the names that they have in the client."""


def spec_of(user_key: str | None, options: OpenOptions) -> OpenBatch:
    """Return the request for a batch. Raises InvalidRequest, and TypeError for an unknown option."""
    unknown = sorted(options.keys() - NAMES.keys())
    if unknown:
        raise TypeError(f"open() got an unexpected keyword argument {unknown[0]!r}")
    given: dict[str, Any] = {NAMES[argument]: value for argument, value in options.items()}
    given.setdefault("traceparent", traceparent())
    with named_as_arguments():
        return OpenBatch(user_key=user_key, **given)
