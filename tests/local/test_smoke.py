"""The smoke test of an account, on the local run: a slice of its steps here, and all in `make proof`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.aws import clients
from fanin.local import LocalRun
from tests.smoke import __main__ as command
from tests.smoke import account, indexes
from tests.smoke.site import Stage
from tests.smoke.steps import STEPS, Step, guarded_add, widest_update

MEASURED = (indexes.units, indexes.item_bytes)
SLICE = [step for step in STEPS if step.run in (guarded_add, widest_update, account.doorbell, *MEASURED)]


@pytest.fixture(params=["slice", pytest.param("all", marks=pytest.mark.proof)])
def steps(request: pytest.FixtureRequest) -> list[Step]:
    return SLICE if request.param == "slice" else list(STEPS)


@pytest.fixture
def smoked(steps: list[Step], request: pytest.FixtureRequest) -> Iterator[LocalRun]:
    """The room's run for a slice; for all steps one of the project's own stack, whose resources they read."""
    if steps == SLICE:
        yield request.getfixturevalue("run")
        return
    with LocalRun.start(archive=True) as run:
        yield run


@pytest.fixture
def stage(smoked: LocalRun, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """That run as a stage, in the environment of a process beside it."""
    for name, value in smoked.environment.items():
        monkeypatch.setenv(name, value)
    caches = (clients.dynamodb, clients.sqs, clients.long_polls)
    for cache in caches:
        cache.cache_clear()
    yield Stage.of_run(smoked)
    for cache in caches:
        cache.cache_clear()


def test_its_steps_pass_and_it_cleans_up(stage: Stage, steps: list[Step]) -> None:
    results = command.smoke(stage, steps)
    print(command.table(results))

    assert all(result.passed for result in results), command.table(results)
    assert not stage.cleaning


def without_run(**outputs: str) -> Stage:
    return Stage("Fanin-x", None, None, "https://x", outputs)


def test_it_asks_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = without_run()
    stage.resources = {}
    monkeypatch.setattr(Stage, "of", lambda _: stage)
    monkeypatch.setattr("builtins.input", lambda _: "no")

    assert command.main(["--stage", "x"]) == 2
    assert "It costs at most $0.00" in capsys.readouterr().out
