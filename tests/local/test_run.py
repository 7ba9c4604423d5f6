from __future__ import annotations

import os
import signal

import pytest

from fanin.local import LocalRunError, run_directories
from fanin.local.emulator_process import emulator


@pytest.mark.parametrize("table", ["BatchesTable", "PagesTable", "GroupTasksTable"])
def test_expiry_is_on_though_the_emulator_drops_it(run, table):
    asked = run.client("dynamodb").describe_time_to_live(TableName=run.outputs[table])

    assert asked["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


def test_the_state_file_says_what_the_run_says(run):
    state = run_directories.directory_of(run.port).read()

    assert (state.url, state.endpoint, state.outputs) == (run.url, run.endpoint, run.outputs)
    assert not state.command


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
