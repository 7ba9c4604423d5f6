"""An invocation's log has each line that its process wrote before the answer, whatever threads are late."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from ministack.core.lambda_runtime import Worker

from fanin.local.function_processes import function_log

PROGRAM = """
import json, sys
for request in sys.stdin:
    for line in json.loads(request):
        print(line, file=sys.stderr)
    print("done", flush=True)
"""


class Runs:
    """A worker of the emulator whose process writes the lines that it is sent, and then its answer."""

    def __init__(self) -> None:
        self.worker = Worker("function", {}, b"")
        self.process = self.worker._proc = subprocess.Popen(
            [sys.executable, "-u", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answered(self, lines: list[str]) -> None:
        self.process.stdin.write(json.dumps(lines) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def logged(self) -> list[str]:
        return function_log.drain(self.worker, first_line_wait=0.1).splitlines()


@pytest.fixture
def runs():
    runs = Runs()
    yield runs
    runs.end()


def following(runs: Runs) -> threading.Thread:
    thread = threading.Thread(target=function_log.follow, args=(runs.worker,), daemon=True)
    thread.start()
    return thread


def test_a_line_that_the_thread_has_read_but_not_handed_over_is_waited_for(runs):
    pipe = function_log.pipe_of(runs.worker)
    runs.answered(["one"])
    logged: list[str] = []
    drains = threading.Thread(target=lambda: logged.extend(runs.logged()))
    with pipe._lock:
        found = os.read(pipe._end, 100)
        drains.start()
        drains.join(0.1)
        pipe._split(found)
    drains.join()

    assert logged == ["one"]


def test_each_line_is_in_the_log_of_its_invocation_once(runs):
    following(runs)
    for number in range(50):
        wanted = [f"{number}-{each} ü" for each in range(number % 4)]
        runs.answered(wanted)

        assert runs.logged() == wanted


def test_more_than_a_pipe_holds_is_read_while_the_handler_runs(runs):
    following(runs)
    wanted = [f"{number} {'x' * 1000}" for number in range(300)]
    runs.answered(wanted)

    assert runs.logged() == wanted


def test_the_last_lines_of_a_process_that_ended_are_logged(runs):
    follows = following(runs)
    runs.answered(["whole"])
    runs.end()
    runs.worker._proc = None
    follows.join()

    assert runs.logged() == ["whole"]


def test_a_new_process_of_a_worker_has_a_pipe_of_its_own(runs):
    runs.answered(["first"])
    assert runs.logged() == ["first"]
    again = Runs()
    runs.worker._proc = again.process
    again.answered(["second"])

    assert runs.logged() == ["second"]
    again.end()
