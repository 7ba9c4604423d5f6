"""The smoke test of an account, on the local run: a slice of its steps here, and all in `make proof`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Lock
from types import SimpleNamespace

import pytest

from fanin.aws import clients
from fanin.local import LocalRun
from tests.smoke import __main__ as command
from tests.smoke import account, analytics, indexes, throttle
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


class Throttled:
    """An API of which each bucket of *routes* admits ten requests, and a hundred a second."""

    def __init__(self, buckets: int) -> None:
        self.buckets, self.lock = buckets, Lock()
        self.tokens: dict[int, tuple[float, float]] = {}

    def get_stage(self, **_: object) -> dict[str, dict[str, float]]:
        return {"DefaultRouteSettings": {"ThrottlingRateLimit": 100, "ThrottlingBurstLimit": 10}}

    def _request(self, _method: str, path: str, *_: object) -> str:
        return path

    def _once(self, path: str) -> SimpleNamespace:
        bucket, now = throttle.ROUTES.index(path) % self.buckets, time.monotonic()
        with self.lock:
            tokens, at = self.tokens.get(bucket, (10.0, now))
            tokens = min(10.0, tokens + 100 * (now - at))
            self.tokens[bucket] = (max(tokens - 1, tokens % 1), now)
        time.sleep(0.01)
        return SimpleNamespace(status=404 if tokens >= 1 else 429)


@pytest.mark.parametrize(
    ("buckets", "said"), [(1, "the routes share the throttle"), (2, "each route has a throttle of its own")]
)
def test_it_tells_a_throttle_of_the_stage_from_one_of_each_route(buckets, said, monkeypatch) -> None:
    stage, api = without_run(ApiId="a"), Throttled(buckets)
    monkeypatch.setattr(Stage, "client", lambda *_: api)
    monkeypatch.setattr(Stage, "transport", api)
    monkeypatch.setattr(throttle, "SECONDS", 0.3)
    (result,) = command.smoke(stage, [Step("throttle", throttle.throttle, {})])

    assert result.passed
    assert result.seen.startswith(f"{said}: one route ")


class Account:
    """SQS, CloudFormation and IAM as far as the steps of an account use them."""

    def __init__(self, tags: dict[str, str]) -> None:
        self.tags = tags

    def get_queue_attributes(self, **_: object) -> dict[str, dict[str, str]]:
        return {"Attributes": {"SqsManagedSseEnabled": "true"}}

    def list_queue_tags(self, **request: str) -> dict[str, dict[str, str]]:
        of_the_stack = {"service": "fanin", "aws:cloudformation:stack-name": "Fanin-x"}
        return {"Tags": of_the_stack if request["QueueUrl"] == "acks" else self.tags}

    def describe_stacks(self, **_: object) -> dict[str, list[dict[str, str]]]:
        return {"Stacks": [{"RoleARN": "arn:aws:iam::111122223333:role/cdk-exec"}]}

    def list_attached_role_policies(self, **request: str) -> dict[str, list[dict[str, str]]]:
        assert request == {"RoleName": "cdk-exec"}
        return {"AttachedPolicies": [{"PolicyName": "fanin-deploy-2"}, {"PolicyName": "fanin-deploy-1"}]}


@pytest.mark.parametrize(
    ("tags", "seen"),
    [
        ({"service": "fanin"}, "SSE-SQS; tags service; also after a second PUT"),
        (
            {},
            "Failed: the doorbell has ('SSE-SQS', {}), and the acks queue ('SSE-SQS', {'service': ",
        ),
    ],
)
def test_a_doorbell_without_the_tags_of_the_stack_is_reported(tags, seen, monkeypatch) -> None:
    stage = without_run(QueueTable="q", AcksQueueUrl="acks")
    stage.fanin = SimpleNamespace(
        create_queue=lambda _: SimpleNamespace(doorbell_url="bell"), remove_queue=lambda *_, **__: None
    )
    monkeypatch.setattr(Stage, "client", lambda *_: Account(tags))
    result, _ = command.smoke(stage, [Step("doorbell", account.doorbell, {})])

    assert result.passed == bool(tags)
    assert result.seen.startswith(seen)


def test_it_prints_the_policies_with_which_a_stage_was_deployed(monkeypatch) -> None:
    monkeypatch.setattr(Stage, "client", lambda *_: Account({}))
    (result,) = command.smoke(without_run(), [Step("rights", account.rights, {})])

    assert result.seen == "with fanin-deploy-1, fanin-deploy-2"


class Billing:
    """DynamoDB as far as the step of indexes uses it: an entry takes so many units in a transaction."""

    def __init__(self, twice: float) -> None:
        self.twice = twice

    def describe_table(self, **_: object) -> dict[str, object]:
        kinds = {"pk": "S", "sk": "S", "listed": "S", "at": "N"}
        return {
            "Table": {
                "AttributeDefinitions": [{"AttributeName": n, "AttributeType": k} for n, k in kinds.items()]
            }
        }

    def put_item(self, **_: object) -> dict[str, object]:
        return {"ConsumedCapacity": self._report(1)}

    def transact_write_items(self, **_: object) -> dict[str, object]:
        return {"ConsumedCapacity": [self._report(self.twice)]}

    def delete_item(self, **_: object) -> None:
        return

    @staticmethod
    def _report(units: float) -> dict[str, object]:
        return {"CapacityUnits": 9, "GlobalSecondaryIndexes": {"due": {"CapacityUnits": units}}}


@pytest.mark.parametrize(
    ("twice", "passed", "seen"),
    [
        (1.0, True, "entries in indexes are billed once in a transaction: 1 units alone, 1 in it"),
        (2.0, True, "entries in indexes are billed twice in a transaction: 1 units alone, 2 in it"),
        (3.0, False, "Failed: the entries take 1 units alone, and 3 in a transaction"),
    ],
)
def test_it_says_how_a_transaction_bills_indexes(twice, passed, seen, monkeypatch) -> None:
    stage = without_run(BatchesTable="b")
    monkeypatch.setattr(Stage, "client", lambda *_: Billing(twice))
    result, *_ = command.smoke(stage, [Step("indexes", indexes.units, {})])

    assert (result.passed, result.seen) == (passed, seen)


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
