"""``fanin dashboard`` and ``fanin local up --dashboard``, as commands."""

from __future__ import annotations

import json
import re
import signal
import socket

import urllib3
from typer.testing import CliRunner

from fanin import local
from fanin.cli.app import app
from fanin.cli.terminal import stopping
from fanin.cli.terminal.exits import ExitCode
from fanin.local.event_log import EventLog
from tests.dashboard.process import running

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/\?t=[\w-]{43}")


def facts(address: str) -> dict:
    """What the page reads first, with the cookie that *address* opens."""
    opened = urllib3.request("GET", address, redirect=False, retries=False)
    cookie = opened.headers["Set-Cookie"].partition(";")[0]
    base = ADDRESS.fullmatch(address)[1]
    return urllib3.request("GET", f"{base}/facts", headers={"Cookie": cookie}, retries=False).json()


def test_it_prints_an_address_that_opens_once_and_ctrl_c_ends_it():
    with running("--url", "https://abc.execute-api.eu-west-1.amazonaws.com/v") as (process, address):
        known = facts(address)
        again = urllib3.request("GET", address, redirect=False, retries=False).status
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)

    api = "https://abc.execute-api.eu-west-1.amazonaws.com"
    assert known == {"name": "", "api": api, "allowWrites": False, "hasEvents": False}
    assert (again, process.returncode, out) == (401, ExitCode.INTERRUPTED, "")
    stopped = "interrupted; the batches go on; run it again for a new address\n"
    assert err.endswith(f"stop with Ctrl-C\n{stopped}")


def test_writes_are_asked_for_and_json_has_the_address():
    token = "eyJhbGciOiJIUzI1NiJ9.secret"
    with running("--json", "--allow-writes", FANIN_URL="https://api.example", FANIN_TOKEN=token) as (
        process,
        line,
    ):
        known = facts(json.loads(line)["url"])
        process.terminate()
        out, err = process.communicate(timeout=30)

    assert known["allowWrites"]
    assert process.returncode == ExitCode.SUCCESS
    assert token not in line + out + err


def test_a_port_in_use_is_refused_and_the_default_gives_way():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        completed = CliRunner().invoke(
            app, ["dashboard", "--url", "http://127.0.0.1:1", "--port", str(port), "--no-open"]
        )

    assert completed.exit_code == ExitCode.REFUSED
    assert f"port {port} of 127.0.0.1 is in use" in completed.stderr


class Run:
    """A local run that ends when it is looked at."""

    url, endpoint = "http://127.0.0.1:1", "http://127.0.0.1:2"

    def __init__(self, folder):
        self.event_log = EventLog(folder)
        self.facts, self.failures = {}, folder / "failures"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def check(self):
        raise KeyboardInterrupt


def test_up_serves_the_dashboard_too(tmp_path, monkeypatch):
    monkeypatch.setattr(local.LocalRun, "start", lambda *_, **__: Run(tmp_path))
    monkeypatch.setattr(stopping.signal, "signal", lambda *_: None)
    completed = CliRunner().invoke(app, ["local", "up", "--dashboard"])
    found = ADDRESS.search(completed.stderr)

    assert completed.exit_code == 0, completed.stderr
    assert completed.stdout == f"{Run.url}\n"
    assert found is not None
    assert facts(found[0]) == {"name": "local run", "api": Run.url, "allowWrites": False, "hasEvents": True}
