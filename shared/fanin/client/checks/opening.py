"""The options of ``Fanin.open``, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, TypedDict

from fanin.arguments import text_or_none
from fanin.client.checks.checking import counted, deadline_of, mode_of, on_failures_of, percent, retention_of
from fanin.client.checks.naming import named_as_arguments
from fanin.item_ids import checked_item_id
from fanin.tracker import ItemId, Mode, OpenBatch, Retention
from fanin.tracker.rules.threshold_options import Threshold, checked_stuck_after, checked_thresholds


class OpenOptions(TypedDict, total=False):
    """The options of a batch. One that is left out has its default.

    *mode*: ``exact`` or ``estimated``. *expected_items*: the least that close accepts; it takes more, with a
    warning in the log. *deadline*: from now, 1 s to 400 days in whole seconds. *parent*: an item of another
    batch that gets the result of this one. *max_failures*: failed items that end the batch;
    *max_failure_percent*: 1 to 100, of the final total. *labels*: yours, to find it. *callback*: gets its
    events. *notify_at*, *stuck_after*: the events while it is live, docs/callbacks.md. *task_token*: of a
    Step Functions task that ends with the batch; *on_failures*: ``succeed`` or ``fail`` it if items failed.
    """

    mode: Mode | str
    expected_items: int | None
    deadline: timedelta | None
    parent: str | ItemId | None
    max_failures: int | None
    max_failure_percent: int | None
    retention: Retention | None
    labels: Mapping[str, str] | None
    callback: str | None
    notify_at: Iterable[Threshold | str]
    stuck_after: timedelta | None
    task_token: str | None
    on_failures: str


CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "mode": mode_of,
    "expected_items": partial(counted, name="expectedItems", least=0),
    "deadline": deadline_of,
    "parent": partial(checked_item_id, field="parentItemId"),
    "max_failures": partial(counted, name="maxFailures", least=1),
    "max_failure_percent": partial(percent, name="maxFailurePercent"),
    "retention": retention_of,
    "labels": lambda labels: {} if labels is None else labels,
    "callback": partial(text_or_none, name="a callback", field="callback"),
    "notify_at": checked_thresholds,
    "stuck_after": checked_stuck_after,
    "task_token": partial(text_or_none, name="a task token", field="taskToken"),
    "on_failures": on_failures_of,
}
"""The check of each option, which returns it as the tracker takes it."""
RENAMED = {"parent": "parent_item_id"}


def spec_of(user_key: str | None, options: OpenOptions) -> OpenBatch:
    """Return the request for a batch. Raises InvalidRequest, and TypeError for an unknown option."""
    unknown = sorted(options.keys() - CHECKS.keys())
    if unknown:
        raise TypeError(f"open() got an unexpected keyword argument {unknown[0]!r}")
    with named_as_arguments():
        checked = {RENAMED.get(name, name): CHECKS[name](value) for name, value in options.items()}
        return OpenBatch(user_key=text_or_none(user_key, "a user key", "userKey"), **checked)
