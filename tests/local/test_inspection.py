"""``fanin local logs`` and ``bus``: what functions log, and a queue that receives the events of a run."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from fanin import Fanin
from fanin.cli.app import app
from fanin.cli.local_run import local_inspection


def asked(run, *arguments):
    """How a verb of `fanin local` on the run ended."""
    return CliRunner().invoke(app, ["local", *arguments, "--port", str(run.port)], prog_name="fanin")


def test_the_bus_gives_its_events_to_a_queue(run):
    lines = dict(line.split("\t") for line in asked(run, "bus", "--queue", "endings").stdout.splitlines())
    batch = Fanin(run.url).open("of the bus")
    batch.close()
    found = run.client("sqs").receive_message(QueueUrl=lines["queue"], WaitTimeSeconds=20)["Messages"]

    assert lines["bus"] == run.outputs["BusName"]
    assert batch.id in {json.loads(each["Body"])["detail"]["batchId"] for each in found}


def test_logs_are_printed_by_the_names_that_are_printed_without_one(run):
    Fanin(run.url).open("of the logs")
    names = asked(run, "logs").stdout.splitlines()

    assert "api.write_batches" in names
    assert "START RequestId: " in asked(run, "logs", "api.write_batches").stdout
    assert (
        "there is no function 'nosuch'; fanin local logs prints the names"
        in asked(run, "logs", "nosuch").stderr
    )


class Logs:
    """A log group that has the events of *looks*, one look after another."""

    def __init__(self, *looks):
        self.looks = list(looks)

    def get_paginator(self, _name):
        return self

    def paginate(self, startTime, **_):  # noqa: N803  # of AWS
        found = self.looks.pop(0) if self.looks else []
        return [{"events": [{"timestamp": at, "message": text} for at, text in found if at >= startTime]}]


def test_followed_lines_come_once_though_the_last_millisecond_is_read_again(monkeypatch):
    monkeypatch.setattr(local_inspection, "FOLLOW_SECONDS", 0)
    first = [(1, "a\n"), (2, "b"), (2, "b")]
    lines = local_inspection._lines(Logs(first, first, [*first, (2, "b"), (3, "c")]), "group", True)

    assert [next(lines) for _ in range(5)] == ["a", "b", "b", "b", "c"]
