"""Which AWS actions each handler asks for, seen in its requests: the record ``requests_sent.json``.

``python -m tests.infra.requests_sent`` records it anew, in half a minute; `make proof` compares.
"""

from __future__ import annotations

import functools
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fanin.aws import clients
from fanin.queue import NewJob
from fanin.tracker import Outcome
from functions.wiring import tracking
from tests.crashes import group_scenarios, job_scenarios, publication_scenarios, tracker_scenarios
from tests.crashes.account import CLIENTS, Account, Killed, opened
from tests.crashes.naming import CONSUMER, ENVIRONMENT, TENANT
from tests.crashes.scenario import Context, Delivery, Event, Request, Scenario
from tests.crashes.scenarios import SCENARIOS
from tests.fuzz import records
from tests.fuzz.deployment import deployment
from tests.fuzz.granting import BATCHES_OF, in_template
from tests.infra.sending import asked_of

DELIVERIES = 3
Sent = dict[str, set[tuple[str, str]]]
"""By handler: each action, and of DynamoDB the table or index by its name in the template."""
KEPT = Path(__file__).with_name("requests_sent.json")


class Recorder:
    """Notes which actions each handler asks for."""

    def __init__(self) -> None:
        self.handler = ""
        self.sent: Sent = defaultdict(set)

    def listen(self, factories: Iterable[Callable[[], Any]]) -> None:
        """Listen to the clients that *factories* make."""
        for each in factories:
            each().meta.events.register("provide-client-params", self._note)

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        service, operation = model.service_model.signing_name, model.name
        if not self.handler:
            return
        if service == "dynamodb":
            asked = {(action, in_template(table)) for action, table in asked_of(params, operation)}
        else:
            asked = {(f"{service}:{BATCHES_OF.get(operation, operation)}", "")}
        self.sent[self.handler] |= asked

    @contextmanager
    def of(self, handler: str) -> Iterator[None]:
        """Note what is sent as that of *handler*."""
        self.handler = handler
        try:
            with redirect_stdout(io.StringIO()):
                yield
        finally:
            self.handler = ""


def _list_all(_: Account) -> Delivery:
    tracker_scenarios.opened()
    return Request("GET", "/v1/batches")


def _overdue(action: str, account: Account) -> Delivery:
    """Post to a child whose deadline has passed, and whose parent ends with it."""
    batch, items = tracker_scenarios.child(deadline=timedelta(minutes=1))
    tracker_scenarios.acked(items[:3], Outcome.FAILURE)
    account.clock.pass_by(timedelta(minutes=2))
    return Request("POST", f"/v1/batches/{batch}/{action}", {})


def _with_a_child() -> str:
    """Open a batch, and a child that stands for its item; return the id of the batch."""
    parent = tracker_scenarios.opened("parent")
    tracker_scenarios.opened(parent_item_id=tracker_scenarios.added(parent, 1)[0])
    return parent


def _cancel_below(_: Account) -> Delivery:
    return Request("POST", f"/v1/batches/{_with_a_child()}/cancel", {"children": True})


def _sweep_below(account: Account) -> Delivery:
    tracking.tracker().cancel(TENANT, _with_a_child(), children=True)
    account.clock.pass_by(timedelta(hours=1))
    return Event({})


def _delete_with_reasons(account: Account) -> Delivery:
    tracker_scenarios.confirmed(tracker_scenarios.failed_in_part())
    account.clock.pass_by(timedelta(minutes=1))
    return Request("DELETE", "/v1/batches", query={"endedBefore": "2026-03-01T12:00:30Z"})


def _list_waiting(_: Account) -> Delivery:
    group_scenarios.registered(5)
    return Request("GET", "/v1/tasks", query={"target": group_scenarios.TARGET})


def _batch_api_is_down(account: Account) -> Delivery:
    group_scenarios.bundled(account)
    account.outside.status = 503
    return group_scenarios.delivered("bundles", account)


def _half_led(account: Account) -> Delivery:
    """Crash a leader before it has sealed its bundle."""
    group_scenarios.to_bundle(account)
    delivery = group_scenarios.delivered("tasks", account)
    account.restart()
    account.after = lambda number: account.kill() if number == HALFWAY else None
    with suppress(Killed):
        delivery.invoke("lead_tasks", Context())
    account.restart()
    account.clock.pass_by(timedelta(hours=1))
    return Event({})


HALFWAY = 5
"""The request of a leader after which tasks are in a bundle that is open."""


def _failing_job(account: Account) -> Delivery:
    """Add a job that its consumer cannot read, and return its ring."""
    job_scenarios.with_jobs(0)
    job_scenarios.queue().add_all([NewJob("job", payload="[]")])
    return group_scenarios.delivered(job_scenarios._doorbell(account), account)


RARE = [
    Scenario("list_batches", "all", _list_all),
    Scenario("get_origin", "its deadline has passed", partial(tracker_scenarios._overdue, "/origin")),
    Scenario("get_children", "its deadline has passed", partial(tracker_scenarios._overdue, "/children")),
    Scenario("cancel_batch", "with its children", _cancel_below),
    Scenario("sweep", "a batch that was cancelled with its children", _sweep_below),
    Scenario("notify_batch", "its deadline has passed", partial(_overdue, "notify")),
    Scenario("reopen_batch", "its deadline has passed", partial(_overdue, "reopen")),
    Scenario("delete_batches", "one with reasons", _delete_with_reasons),
    Scenario("list_tasks", "waiting ones", _list_waiting),
    Scenario("start_publication", "its batch has expired", publication_scenarios.start_again),
    Scenario("get_publication", "its batch has expired", publication_scenarios.get_expired),
    Scenario("handle_bundle", "to be tried again", _batch_api_is_down),
    Scenario("sweep_groups", "a bundle that its leader left open", _half_led),
    Scenario(CONSUMER, "a job that fails", _failing_job),
]
"""What the crash sweep does without: the same requests are sent by other handlers there."""


def _run(scenarios: Iterable[Scenario], recorder: Recorder) -> None:
    """Run the handlers through *scenarios*, undisturbed."""
    with opened() as account:
        recorder.listen(CLIENTS)
        for scenario in scenarios:
            empty = account.save()
            delivery = scenario.prepare(account)
            account.restart()
            with recorder.of(scenario.handler), suppress(ValueError):
                delivery.invoke(scenario.handler, Context())
            account.restore(empty)


def _paced() -> str:
    """Return the settings of the crash sweep, with a rate for each target."""
    settings = json.loads(ENVIRONMENT["FANIN_SETTINGS"])
    policies = [{**each, "rate": 100} for each in settings["grouper_policies"]]
    return json.dumps({**settings, "grouper_policies": policies})


def _fuzzed_deliveries(recorder: Recorder) -> None:
    """Send the consumers deliveries with broken messages, at their first receive and at later ones."""
    called = records._called

    def noted(judge: records.Judge, handler: str, *others: Any) -> Any:
        with recorder.of(handler):
            return called(judge, handler, *others)

    with deployment(), patch.object(records, "_called", noted):
        recorder.listen((clients.dynamodb, clients.sqs, clients.events, clients.s3))
        records.run(DELIVERIES, seed=1)


@functools.cache
def recorded() -> Sent:
    """Return what each handler sends in all scenarios and deliveries."""
    recorder = Recorder()
    _run(SCENARIOS, recorder)
    with patch.dict(ENVIRONMENT, FANIN_SETTINGS=_paced()):
        _run(RARE, recorder)
    _fuzzed_deliveries(recorder)
    return recorder.sent


def sent_in_some() -> Sent:
    """Return what handlers send in every tenth scenario."""
    recorder = Recorder()
    _run(SCENARIOS[::10], recorder)
    return recorder.sent


@functools.cache
def requests_sent() -> Sent:
    """Return what each handler sent when it was recorded."""
    kept = json.loads(KEPT.read_text())
    return defaultdict(
        set, {name: {tuple(each.split(" ", 1)) for each in sent} for name, sent in kept.items()}
    )


def keep(sent: Sent) -> None:
    """Write the record anew."""
    kept = {handler: sorted(map(" ".join, sent[handler])) for handler in sorted(sent)}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    keep(recorded())
