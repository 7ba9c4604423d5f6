"""The smoke test of an account, on the local run: a slice of its steps here, and all in `make proof`."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from fanin.aws import clients
from fanin.local import LocalRun
from tests.smoke import __main__ as command
from tests.smoke import account, analytics, indexes
from tests.smoke.site import Failed, Stage
from tests.smoke.steps import STEPS, Step, guarded_add, widest_update

MEASURED = (indexes.units, indexes.item_bytes)
SLICE = [step for step in STEPS if step.run in (guarded_add, widest_update, account.doorbell, *MEASURED)]


@pytest.fixture
def stage(run: LocalRun, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """The run as a stage, in the environment of a process beside it."""
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    caches = (clients.dynamodb, clients.sqs, clients.long_polls)
    for cache in caches:
        cache.cache_clear()
    yield Stage.of_run(run)
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("steps", [SLICE, pytest.param(STEPS, marks=pytest.mark.proof)], ids=["slice", "all"])
def test_its_steps_pass_and_it_cleans_up(stage: Stage, steps: list[Step]) -> None:
    results = command.smoke(stage, steps)
    print(command.table(results))

    assert all(result.passed for result in results), command.table(results)
    assert not stage.cleaning


def without_run(**outputs: str) -> Stage:
    return Stage("Fanin-x", None, None, "https://x", outputs)


def test_it_costs_less_than_a_cent_but_for_spark() -> None:
    plain, emr = without_run(), without_run(PipelineApplicationId="a")
    plain.resources = emr.resources = {}

    assert command.most_dollars(plain) < 0.01
    assert command.most_dollars(emr) == command.most_dollars(plain) + analytics.MOST_DOLLARS["emr"]


def test_it_asks_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = without_run()
    stage.resources = {}
    monkeypatch.setattr(Stage, "of", lambda _: stage)
    monkeypatch.setattr("builtins.input", lambda _: "no")

    assert command.main(["--stage", "x"]) == 2
    assert "It costs at most $0.00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"), [("", "make smoke STAGE=prod"), ("prod", "stage 'prod' is not found: ")]
)
def test_a_stage_that_is_not_there_is_said_in_a_line(name, said, monkeypatch, capsys) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(SystemExit, match="2"):
        command.main(["--stage", name])
    assert said in capsys.readouterr().err


def test_a_failed_step_is_reported_and_the_others_go_on() -> None:
    def fails(_: Stage) -> str:
        raise Failed("nothing came")

    done = []
    stage = without_run()
    stage.clean_later("it", lambda: done.append(1))
    results = command.smoke(stage, [Step("a", fails, {}), Step("b", lambda _: "well", {})])

    assert [(result.passed, result.seen) for result in results] == [
        (False, "Failed: nothing came"),
        (True, "well"),
        (True, "done"),
    ]
    assert done == [1]
    assert command.table(results).endswith("1 of 3 failed")


class Spark:
    """Glue and EMR Serverless as far as the smoke test uses them."""

    meta = SimpleNamespace(region_name="eu-west-1")

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, object]]] = []

    def start_job_run(self, **request: object) -> dict[str, str]:
        self.calls.append(("start", request))
        return {"JobRunId": "r", "jobRunId": "r"}

    def get_job_run(self, **_: object) -> dict[str, dict[str, str]]:
        return {"JobRun": {"JobRunState": "STARTING"}, "jobRun": {"state": "SUBMITTED"}}

    def batch_stop_job_run(self, **request: object) -> dict[str, list[object]]:
        self.calls.append(("stop", request))
        return {"Errors": []}

    def cancel_job_run(self, **request: object) -> None:
        self.calls.append(("stop", request))


@pytest.mark.parametrize("step", [analytics.glue, analytics.emr])
def test_a_spark_run_is_started_and_stopped(step, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, spark = without_run(BatchesTable="b", PagesTable="p"), Spark()
    stage.outputs |= {
        "PipelineApplicationId": "a",
        "PipelineScript": "s",
        "PipelineRoles": '{"audit": "role"}',
    }
    stage.resources = {"AWS::Glue::Job": ["fanin-x-fan-out", "fanin-x-audit"]}
    monkeypatch.setattr(Stage, "client", lambda *_: spark)
    results = command.smoke(stage, [Step("spark", step, {})])

    assert all(result.passed for result in results), command.table(results)
    assert [name for name, _ in spark.calls] == ["start", "stop"]
