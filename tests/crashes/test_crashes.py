"""Every handler survives a crash at some of its requests; ``make crashes`` tries all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanin.api.bus_events import workflow_callbacks
from tests.crashes.account import Account, opened
from tests.crashes.judging import Disturbance, Judge
from tests.crashes.naming import MODULES
from tests.crashes.scenarios import SCENARIOS, deployed

FUNCTIONS = Path(__file__).parents[2] / "functions"
FIRST = {scenario.handler: scenario for scenario in reversed(SCENARIOS)}


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with opened() as account:
        yield account


def in_the_middle(each: Disturbance, requests: int) -> bool:
    """A kill after half of the requests, or after the only one."""
    return each == (
        Disturbance("killed after", 1) if requests == 1 else Disturbance("killed before", 1 + requests // 2)
    )


def test_each_deployed_handler_has_a_scenario() -> None:
    files = {path.stem for path in FUNCTIONS.glob("*.py")} - {"__init__"}

    assert set(deployed()) == files == set(FIRST) - set(MODULES)


@pytest.mark.parametrize("handler", sorted(FIRST))
def test_a_handler_that_is_killed_and_called_again_leaves_what_it_leaves_undisturbed(
    account: Account, handler: str
) -> None:
    judged = Judge(account, in_the_middle).judge(FIRST[handler])

    assert judged.runs
    assert judged.failures == []


def test_a_handler_with_its_steps_in_the_wrong_order_is_found(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = workflow_callbacks._end

    def drop_first(tasks, token, end):  # the token is gone before the task has ended
        batch = current["batch"]
        current["tracker"].store.drop_token(batch)
        return ended(tasks, token, end)

    current = {}
    named = workflow_callbacks.batch_of_event

    def found(detail, tracker):
        batch = named(detail, tracker)
        current.update(tracker=tracker, batch=batch.key)
        return batch

    monkeypatch.setattr(workflow_callbacks, "batch_of_event", found)
    monkeypatch.setattr(workflow_callbacks, "_end", drop_first)
    judged = Judge(account, lambda each, _: each.kind == "killed before").judge(FIRST["resume_task"])

    assert any("missing task token+0" in failure for failure in judged.failures)
