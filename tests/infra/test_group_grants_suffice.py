"""What the group-batcher sends to DynamoDB is what its handlers are granted: the code itself is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from moto import mock_aws

from fanin.errors import NotFound
from fanin.grouper import (
    Answer,
    BundleMessage,
    Grouper,
    NewTask,
    Outcome,
    Policies,
    Policy,
    Status,
    TaskMessage,
    Verdict,
    World,
)
from fanin.grouper.dynamodb import DynamoStore
from fanin.grouper.listing import BundledPlace, WaitingPlace
from fanin_cdk.grants.group_handlers import (
    CONSUME_TASKS,
    GROUP_ROUTES,
    HANDLE_BUNDLE,
    LEAD_TASKS,
    SWEEP_GROUPS,
)
from tests.contract import moto_clients
from tests.contract.grouper_tables import TABLES, create_tables
from tests.contract.tables import deep_recursion
from tests.infra.sending import Sent
from tests.infra.test_grants_suffice import Clock

HANDLERS = {
    each.lambda_.name: each
    for each in (*GROUP_ROUTES, LEAD_TASKS, HANDLE_BUNDLE, SWEEP_GROUPS, CONSUME_TASKS)
}
TENANT, TARGET = "t", "x"
AT = datetime(2026, 1, 1, tzinfo=UTC)
# Sent where a refused write does not bring along what stands in its way, or a claim was refused.
FALLBACK = {
    ("dynamodb:GetItem", "GroupTasks"),
    ("dynamodb:BatchGetItem", "GroupTasks"),
    ("dynamodb:GetItem", "GroupBundles"),
    ("dynamodb:GetItem", "GroupLeases"),
}


@dataclass
class Outbox:
    """A queue that only the test reads."""

    postings: list = field(default_factory=list)

    def send(self, postings):
        self.postings += postings

    def messages(self, kind):
        return [each.message for each in self.postings if isinstance(each.message, kind)]


@dataclass
class Says:
    """A batch API with one answer; outcomes are reported to no one."""

    answer: Answer

    def call(self, _call):
        return self.answer

    def notify(self, tasks):
        """Nothing."""


@dataclass
class Stage:
    """The group-batcher, its clock and what it sent."""

    grouper: Grouper
    clock: Clock
    outbox: Outbox

    def bundle(self):
        return self.outbox.messages(BundleMessage)[0]

    def handle(self, answer):
        says = Says(answer)
        self.grouper.handle(self.bundle(), says, says)

    def lead_all(self):
        for message in self.outbox.messages(TaskMessage):
            self.grouper.lead(message)


def nothing(_stage):
    """No past."""


def registered(stage):
    for number in range(5):
        stage.grouper.register(TENANT, NewTask([number], TARGET, f"task-{number}"))


def bundled(stage):
    registered(stage)
    stage.clock.at += timedelta(seconds=2)
    stage.lead_all()


def register_twice(stage):
    registered(stage)
    registered(stage)


def lead_twice(stage):
    stage.clock.at += timedelta(seconds=2)
    stage.lead_all()
    stage.lead_all()


def handle_until_done(stage):
    stage.handle(Answer(Outcome(Verdict.RETRY, "later")))
    stage.clock.at += timedelta(minutes=5)
    stage.handle(Answer(members={"task-1": Outcome(Verdict.RETRY, "it alone")}))


def refuse(stage):
    stage.handle(Answer(Outcome(Verdict.FAIL, "no")))


def list_and_look(stage):
    stage.grouper.tasks(TENANT, TARGET).waiting(100, WaitingPlace())


def register_many(stage):
    for _ in range(2):
        stage.grouper.register_all(
            TENANT, [NewTask([number], TARGET, f"task-{number}") for number in range(5)]
        )


def ended(stage):
    bundled(stage)
    stage.handle(Answer())


def list_by_state(stage):
    assert stage.grouper.tasks(TENANT, TARGET).bundled(Status.SUCCEEDED, 100, BundledPlace())[0]


def list_targets(stage):
    assert stage.grouper.targets(TENANT).rows


def look_at_a_task(stage):
    stage.grouper.status(stage.grouper.task(TENANT, "task-0"))


def look_at_a_bundle(stage):
    with pytest.raises(NotFound):
        stage.grouper.bundle(TENANT, "0" * 8 + "-0000-0000-0000-" + "0" * 12)


def list_bundles(stage):
    for key in stage.grouper.bundles(TENANT, TARGET).rows:
        stage.grouper.world.store.bundle(key)


def sweep_late(stage):
    stage.clock.at += timedelta(hours=1)
    stage.grouper.sweep()


def half_led(stage):
    """A bundle that its leader left open."""
    registered(stage)
    seal, stage.grouper.world.store.__class__.seal = DynamoStore.seal, lambda _store, bundle: bundle
    try:
        stage.clock.at += timedelta(seconds=2)
        stage.lead_all()
    finally:
        DynamoStore.seal = seal


DEEDS = [
    ("register_task", nothing, register_twice),
    ("consume_tasks", nothing, register_many),
    ("list_tasks", registered, list_and_look),
    ("list_tasks", ended, list_by_state),
    ("list_targets", ended, list_targets),
    ("get_task", bundled, look_at_a_task),
    ("get_bundle", bundled, look_at_a_bundle),
    ("list_bundles", bundled, list_bundles),
    ("lead_tasks", registered, lead_twice),
    ("handle_bundle", bundled, handle_until_done),
    ("handle_bundle", bundled, refuse),
    ("sweep_groups", bundled, sweep_late),
    ("sweep_groups", half_led, sweep_late),
]


def actions_sent(before, deed):
    with mock_aws(), deep_recursion():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        clock, outbox = Clock(AT), Outbox()
        policies = Policies(default=Policy(rate=100.0, burst=10))
        store = DynamoStore(client, TABLES, pause=lambda _: None)
        world = World(store, outbox, policies, now=clock, jitter=lambda: 0.5, pause=lambda _: None)
        stage = Stage(Grouper(world), clock, outbox)
        before(stage)
        sent = Sent(client)
        deed(stage)
    return sent.actions


def grants_of(handler):
    tables = {"GroupTasks": handler.tasks, "GroupLeases": handler.leases, "GroupBundles": handler.bundles}
    tables |= {
        "GroupTasks/index/open": handler.open_index,
        "GroupBundles/index/live": handler.live_index,
        "GroupBundles/index/lane": handler.lane_index,
        "GroupLeases/index/targets": handler.targets_index,
    }
    return {(action, table) for table, actions in tables.items() for action in actions}


@pytest.mark.parametrize("name", HANDLERS)
def test_a_handler_is_granted_what_its_use_case_sends_and_no_more(name):
    grants = grants_of(HANDLERS[name])

    sent = set().union(*(actions_sent(before, deed) for of, before, deed in DEEDS if of == name))

    assert sent <= grants
    assert grants - sent <= FALLBACK
