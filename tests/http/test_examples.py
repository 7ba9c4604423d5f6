"""The examples as their users deploy them, each a stack of its own beside the run's; their events arrive.

They run in `make proof`. In `make test` tests/infra synthesises all of them, test_step_functions has an
execution that waits, and the other tests of this folder have the stack of examples/catalog.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fanin.local import LocalRun
from fanin.local.deploying.assembly import Assembly
from fanin.local.deploying.deployment import deploy
from fanin.local.emulator_process.connection import Connection
from infra.paths import ROOT
from tests.infra.examples import EXAMPLES, stack_of
from tests.infra.synthesis import scratch_folder
from tests.polling import eventually

PATIENCE_SECONDS = 60


@contextmanager
def deployed(run: LocalRun, name: str) -> Iterator[dict[str, str]]:
    """The outputs of the example *name* on the emulator of *run*."""
    import aws_cdk as cdk

    folder = scratch_folder()
    lend_packages(folder)
    app = cdk.App(context={"fanin:target": "local"}, outdir=str(folder))
    stack_of(name, app)
    app.synth()
    source, aws = Assembly.read(folder), Connection(run.endpoint)
    outputs = deploy(source, aws, lambda _: None)
    yield outputs
    aws.client("cloudformation").delete_stack(StackName=EXAMPLES[name])


def lend_packages(folder: Path) -> None:
    """Give the synthesis into *folder* the layer of the run, so that nothing is installed again."""
    for layer in (ROOT / "build" / "local").glob("*/asset.*/python"):
        lent = folder / layer.parent.name
        if not lent.exists():
            lent.symlink_to(layer.parent)


def received(run: LocalRun, url: str) -> dict[str, Any]:
    """The next event in the queue *url*."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        for message in run.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=5).get("Messages", []):
            event: dict[str, Any] = json.loads(message["Body"])
            return event
    raise AssertionError("no event arrived")


@pytest.mark.proof
def test_the_event_of_a_load_arrives_when_its_workers_are_done(run):
    with deployed(run, "sqs_workers") as outputs:
        rows = [{"title": f"row {number}"} for number in range(30)]
        payload = json.dumps({"load": "catalog-8", "rows": rows}).encode()
        answer = run.client("lambda").invoke(FunctionName=outputs["LoaderName"], Payload=payload)
        batch_id = json.loads(answer["Payload"].read())

        event = received(run, outputs["DoneUrl"])

    assert "FunctionError" not in answer, batch_id
    assert (event["detail-type"], event["detail"]["batchId"]) == ("BatchCompleted", batch_id)
    assert (event["detail"]["userKey"], event["detail"]["result"]) == ("catalog-8", "succeeded")
    assert event["detail"]["acked"] == 30


@pytest.mark.proof
def test_an_execution_goes_on_when_its_workers_are_done(run):
    with deployed(run, "step_functions") as outputs:
        machines = run.client("stepfunctions")
        given = json.dumps({"rows": ["order 1", "order 2"]})
        arn = machines.start_execution(stateMachineArn=outputs["MachineArn"], input=given)["executionArn"]
        assert eventually(lambda: machines.describe_execution(executionArn=arn)["status"] != "RUNNING")
        found = machines.describe_execution(executionArn=arn)

    assert found["status"] == "SUCCEEDED", found
    assert json.loads(found["output"])["batch"]["acked"] == 2
