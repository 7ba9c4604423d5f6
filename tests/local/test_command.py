from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from fanin.local import run_directories
from fanin.local.run_directories import RunDirectory
from tests.local import processes, small
from tests.polling import eventually

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "fanin.cli.main", "local"]
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "shared"), str(ROOT)])}
URL = re.compile(r"http://127\.0\.0\.1:(\d+)")
RUNS = run_directories.root()
"""Asked once: other tests in this process replace it."""
BATCH = "/v1/batches/00000000-0000-0000-0000-000000000000"


@contextmanager
def up(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`fanin local up` in the foreground, answering; and its port."""
    with tempfile.TemporaryFile("w+") as errors:
        started = subprocess.Popen(
            [*COMMAND, "up", "--port", "0", *arguments],
            env=ENV,
            text=True,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            url = URL.fullmatch(started.stdout.readline().strip())
            assert url, (errors.seek(0), errors.read())
            yield started, int(url[1])
        finally:
            started.kill()
            started.wait()
            started.stdout.close()


def asked(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], env=ENV, text=True, capture_output=True, check=False)


def directory_of(port: int) -> RunDirectory:
    return RunDirectory(RUNS / str(port))


def nothing_is_left(port: int) -> bool:
    path = directory_of(port).path
    return eventually(lambda: not path.exists() and not processes.naming(path))


def answers(port: int) -> int:
    return urllib3.request("GET", f"http://127.0.0.1:{port}{BATCH}", retries=False).status


@pytest.mark.side_by_side
def test_up_prints_the_url_of_an_api_that_answers_and_ctrl_c_ends_it(tmp_path):
    with up("--template-dir", str(small.assembly(tmp_path))) as (started, port):
        assert answers(port) == 404
        assert processes.naming(directory_of(port).path)

        started.send_signal(signal.SIGINT)

        assert started.wait(60) == 0
        assert nothing_is_left(port)


@pytest.mark.side_by_side
def test_a_parent_that_is_killed_leaves_no_process_and_no_file(catalog):
    with up("--template-dir", str(catalog)) as (started, port):
        answers(port)

        started.kill()

        assert nothing_is_left(port)


@pytest.mark.side_by_side
def test_an_emulator_that_is_killed_ends_the_command_as_a_failure_and_its_workers(catalog):
    with up("--template-dir", str(catalog)) as (started, port):
        answers(port)

        os.kill(directory_of(port).read().host, signal.SIGKILL)

        assert started.wait(60) == 1
        assert nothing_is_left(port)


@pytest.mark.side_by_side
def test_down_ends_a_detached_run_and_a_second_down_finds_nothing(tmp_path):
    up = asked("up", "--port", "0", "--detach", "--template-dir", str(small.assembly(tmp_path)))
    port = int(URL.search(up.stdout)[1])

    assert up.returncode == 0
    assert answers(port) == 404

    first, second = (asked("down", "--port", str(port)) for _ in range(2))

    assert first.stdout == f"ended http://127.0.0.1:{port}\n"
    assert second.stderr.startswith(f"there is no local run on port {port};")
    assert nothing_is_left(port)


@pytest.mark.side_by_side
def test_a_port_in_use_is_a_plain_message(run):
    up = asked("up", "--port", str(run.port))

    assert up.returncode == 1
    assert up.stderr.startswith(f"port {run.port} is in use by a local run")
    assert "Traceback" not in up.stderr


APP = """
import os, pathlib, subprocess
pathlib.Path(os.environ["DRAFT"], "started").touch()
subprocess.run(["sleep", "600"])
"""
PARENT = """
import os, subprocess, sys
module = [sys.executable, "-m", "fanin.local.deploying.synthesis"]
module += [str(os.getpid()), os.environ["DRAFT"], "infra.app"]
subprocess.run(module, start_new_session=True)
"""


@pytest.mark.side_by_side
def test_a_killed_parent_takes_the_synthesis_along(tmp_path):
    draft, folder = tmp_path / "draft", tmp_path / "infra"
    draft.mkdir()
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "shared")])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=tmp_path, env={**ENV, "PYTHONPATH": path, "DRAFT": str(draft)}
    )

    assert eventually((draft / "started").exists)
    parent.kill()
    parent.wait()

    assert eventually(lambda: not processes.naming(draft) and not draft.exists())
