from __future__ import annotations

import json
import os
import signal
from typing import Any
from uuid import uuid4

import pytest
import urllib3

from fanin.local import LocalRun, LocalRunError, run_directories
from fanin.local.emulation import emulator
from tests.local import processes

POOL = urllib3.PoolManager(retries=False, timeout=120)


def call(run: LocalRun, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex}
    content = None if body is None else json.dumps(body)
    answer = POOL.request(method, run.url + path, body=content, headers=headers)
    return answer.status, answer.json()


def opened(run: LocalRun, count: int) -> tuple[str, str]:
    """A new batch and the group of its *count* items."""
    batch = call(run, "POST", "/v1/batches", {})[1]["batchId"]
    return batch, call(run, "POST", f"/v1/batches/{batch}/items", {"count": count})[1]["groups"][0]["id"]


@pytest.mark.parametrize("table", ["BatchesTable", "PagesTable", "GroupTasksTable"])
def test_expiry_is_on_though_the_emulator_drops_it(run, table):
    asked = run.client("dynamodb").describe_time_to_live(TableName=run.outputs[table])

    assert asked["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


def test_the_state_file_says_what_the_run_says(run):
    state = run_directories.directory_of(run.port).read()

    assert (state.url, state.endpoint, state.outputs) == (run.url, run.endpoint, run.outputs)
    assert not state.command


def test_two_runs_live_side_by_side_and_the_second_takes_nothing_of_the_first_along(run):
    with LocalRun.start() as second:
        batch, _ = opened(second, 1)

        assert call(second, "GET", f"/v1/batches/{batch}")[0] == 200
        assert call(run, "GET", f"/v1/batches/{batch}")[0] == 404
    directory = run_directories.directory_of(second.port)

    assert not directory.path.exists()
    assert not processes.naming(directory.path)
    assert call(run, "GET", f"/v1/batches/{batch}")[0] == 404


def test_an_emulator_that_dies_is_noticed_and_quoted():
    started = emulator.start(0)
    started.process.kill()
    started.process.wait()

    with pytest.raises(LocalRunError, match="exited unexpectedly"):
        emulator.wait_until_ready(started)
    started.stop()

    assert not started.directory.path.exists()


def test_an_emulator_that_is_stopped_by_a_signal_is_ended_too():
    started = emulator.start(0)
    os.kill(started.process.pid, signal.SIGSTOP)

    started.stop()

    assert started.process.returncode == -signal.SIGKILL
    assert not started.directory.path.exists()
    started.stop()
