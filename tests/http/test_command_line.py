"""The command line over the local run: the deployed API, its IAM front and the emulator's tables."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from fanin.cli.app import app
from fanin.cli.terminal.exits import ExitCode
from fanin.local import LocalRun


@pytest.fixture
def fanin(run: LocalRun, monkeypatch):
    monkeypatch.setenv("FANIN_URL", run.url)

    def call(*arguments, stdin=None):
        return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)

    return call


def test_a_batch_from_open_to_its_end(fanin):
    key = f"catalog-{uuid4().hex[:8]}"
    batch_id = fanin("open", key, "--deadline", "1h", "--label", "team:search").stdout.strip()
    items = fanin("add", key, "12").stdout.strip()
    prefix = items.rpartition(":")[0]
    failed = fanin("fail", f"{prefix}:3-4", "-m", "no such image")
    left = fanin("outstanding", key).stdout
    closed = fanin("close", key)
    acked = fanin("ack", "-", stdin=left)
    found = json.loads(fanin("status", key, "--json").stdout)

    assert left.split() == [f"{prefix}:0-2", f"{prefix}:5-11"]
    assert (failed.stdout, closed.stdout, acked.stdout) == ("accepted\t2\n", "CLOSED\n", "accepted\t10\n")
    assert f"complete: {key} (completed_with_failures)" in acked.stderr
    assert (found["batchId"], found["state"], found["progress"]["failed"]) == (batch_id, "COMPLETE", 2)
    assert fanin("failures", key, "--reasons").stdout.count("no such image") >= 1
    assert batch_id in fanin("list", "--key", key).stdout
    assert fanin("close", "no-such-key").exit_code == ExitCode.REFUSED
