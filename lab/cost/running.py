"""Runs a deployed handler in this process on moto, and counts what it does."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import boto3
from moto import mock_aws

from fanin.aws import clients
from fanin.cost import Usage
from functions.wiring import metered
from lab.cost.month import EVENT_BYTES, EVENTS, LAMBDA_LINES, milliseconds
from lab.cost.stack import Stack
from lab.cost.units import UnitMeter

NO_ENDPOINT = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000, aws_request_id="id")


@dataclass
class Counted:
    """The requests, units and metrics of the invocations since the start."""

    requests: int = 0
    read_units: float = 0
    write_units: float = 0
    log_bytes: int = 0
    metrics: set[tuple[str, ...]] = field(default_factory=set)
    invocations: int = 0

    def usage(self, gigabytes: float) -> Usage:
        """Return the units of the invocations of a function of *gigabytes* of memory."""
        duration = self.invocations * milliseconds(self.requests / max(self.invocations, 1)) / 1000
        lines = self.invocations * (LAMBDA_LINES + EVENTS * EVENT_BYTES)
        return Usage(
            {
                "invocation": self.invocations,
                "gb_second": duration * gigabytes,
                "read_unit": self.read_units,
                "write_unit": self.write_units,
                "log_gb": (self.log_bytes + lines) / 1e9,
                "log_gb_month": (self.log_bytes + lines) / 1e9,
            }
        )


@contextlib.contextmanager
def deployed(stack: Stack) -> Iterator[UnitMeter]:
    """Provide the stack's tables on moto, and yield the meter of the client that the handlers share."""
    # moto parses an expression by recursion, a level for each of the 171 digits of a page.
    sys.setrecursionlimit(20_000)
    os.environ.update(NO_ENDPOINT)
    os.environ.pop("AWS_ENDPOINT_URL", None)
    with mock_aws():
        uncounted = boto3.client("dynamodb")
        stack.create_tables(uncounted)
        yield UnitMeter(uncounted).attach(clients.dynamodb())


def configure(stack: Stack, handler: str) -> None:
    """Set the environment of ``functions.<handler>``."""
    os.environ.update(stack.environment(handler))
    os.environ["FANIN_SETTINGS"] = "{}"


def invoke(stack: Stack, meter: UnitMeter, handler: str, event: Any, counted: Counted) -> Any:
    """Run ``functions.<handler>`` with its environment, and add what it did to *counted*."""
    configure(stack, handler)
    function: Callable[[Any, Any], Any] = import_module(f"functions.{handler}").handler
    before, reads, writes = dict(metered.meter.totals), meter.reads, meter.writes
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        answer = function(event, CONTEXT)
    spent = {name: amount - before.get(name, 0) for name, amount in metered.meter.totals.items()}
    counted.requests += int(spent.get("requests", 0))
    counted.read_units += meter.reads - reads
    counted.write_units += meter.writes - writes
    counted.invocations += 1
    _read_log(out.getvalue(), counted)
    return answer


def _read_log(text: str, counted: Counted) -> None:
    counted.log_bytes += len(text.encode())
    for line in text.splitlines():
        record = json.loads(line) if line.startswith("{") else {}
        for directive in record.get("_aws", {}).get("CloudWatchMetrics", []):
            dimensions = tuple(str(record[each]) for each in directive["Dimensions"][0])
            counted.metrics |= {(each["Name"], *dimensions) for each in directive["Metrics"]}
