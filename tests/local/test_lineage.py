"""The chain of requests that Lambda counts, and ``fanin local work`` counts it too."""

from __future__ import annotations

import os
import sys
from typing import Any

import boto3
import pytest
from moto import mock_aws

from fanin.local.emulator_patches.lineage import TRACE_HEADER, Chain
from fanin.local.user_function import feeding
from fanin.local.user_function.feeding import LOOP, Feeder, FunctionPerformer, environment_of_function
from fanin.local.user_function.function_process import FunctionProcess
from fanin.local.user_function.source import source_of
from tests.local.test_work import RUN

APP = """
import os

def handler(event, context):
    return {"sent": os.environ["_X_AMZN_TRACE_ID"], "name": os.environ["AWS_LAMBDA_FUNCTION_NAME"]}
"""


def after(count: int, function: str = "app:handler") -> Chain:
    """A chain that invoked a function so often."""
    chain = Chain()
    for _ in range(count):
        chain = chain.with_invocation(function)
    return chain


def event(*headers: str) -> dict[str, Any]:
    records = [{"eventSource": "aws:sqs", "attributes": {TRACE_HEADER: each}} for each in headers]
    return {"Records": records}


@pytest.mark.parametrize("header", ["", "Root=1-2-3;Sampled=0", "Root=1;Lineage=", "Lineage=a:b|c", ";=;|:"])
def test_a_header_without_counts_begins_a_chain(header: str) -> None:
    assert Chain.parse(header) == Chain()


def test_a_chain_counts_each_function_and_is_read_from_its_header() -> None:
    chain = after(3).with_invocation("other")

    assert Chain.parse(chain.header()) == chain
    assert sorted(chain.invocations.values()) == [1, 3]


def test_a_delivery_has_the_highest_count_of_its_messages() -> None:
    low, high = after(2).with_invocation("other"), after(5)

    assert Chain.of_event(event(low.header(), "", high.header())) == Chain(
        {**low.invocations, **high.invocations}
    )
    assert Chain.of_event({"Records": [{"eventSource": "aws:s3"}]}) is None
    assert Chain.of_event("text") is None


def test_what_a_function_of_the_user_sends_goes_on_with_the_chain(tmp_path, monkeypatch) -> None:
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    function = FunctionProcess("app:handler", sys.executable, environment_of_function(os.environ, RUN))
    function.start()
    try:
        first, third = function.invoke({}, 30), function.invoke(event(after(2).header()), 30)
    finally:
        function.stop()

    assert first["name"] == "handler"
    assert [Chain.parse(each["sent"]) for each in (first, third)] == [after(1), after(3)]


class Invoked:
    """A function of the user that notes its invocations."""

    spec = "app:handler"
    is_ready = True

    def __init__(self) -> None:
        self.events: list[Any] = []

    def invoke(self, event: Any, seconds: float) -> None:
        self.events.append(event)


@pytest.mark.parametrize(
    ("count", "loops", "worked"), [(15, False, True), (16, False, False), (16, True, True)]
)
def test_a_delivery_that_lambda_would_drop_returns(
    tmp_path, monkeypatch, count: int, loops: bool, worked: bool
) -> None:
    monkeypatch.setattr(feeding, "WAIT_SECONDS", 0)
    lines: list[str] = []
    with mock_aws():
        sqs = boto3.client("sqs", "us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")
        source, function = source_of(sqs, "work"), Invoked()
        header = {"DataType": "String", "StringValue": after(count).header()}
        sent = {TRACE_HEADER: header}
        sqs.send_message(QueueUrl=source.url, MessageBody="a", MessageSystemAttributes=sent)
        feeder = Feeder(source, FunctionPerformer(function, 30, lines.append, loops), tmp_path)
        feeder._deliver(feeder._received())

    assert bool(function.events) is worked
    assert (LOOP in lines) is not worked
    assert (feeder.worker.counts["deleted"], feeder.worker.counts["returned"]) == (
        (1, 0) if worked else (0, 1)
    )
