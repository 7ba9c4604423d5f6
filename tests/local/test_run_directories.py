from __future__ import annotations

import os

import pytest

from fanin.local import LocalRunError, run_directories
from fanin.local.run_directories import State

PORT = 1


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(run_directories, "root", lambda: tmp_path / "runs")
    return run_directories.directory_of(PORT)


def state(**changed) -> State:
    known = {"port": PORT, "url": "http://u", "endpoint": "http://e", "outputs": {"A": "1"}}
    return State(**{**known, "pid": 1, "host": 2, "command": True, **changed})


def test_a_held_folder_cannot_be_taken(directory):
    lock = directory.take()

    with pytest.raises(LocalRunError, match="another local run"):
        directory.take()
    os.close(lock)


def test_what_a_crash_left_is_cleared_by_the_next_run_on_its_port(directory):
    os.close(directory.take())
    (directory.scratch / "left").touch()

    os.close(directory.take())

    assert not list(directory.scratch.iterdir())


def test_a_sweep_takes_the_abandoned_and_spares_the_held(directory):
    os.close(run_directories.directory_of(2).take())
    lock = directory.take()

    run_directories.sweep()

    assert run_directories.directories() == [directory]
    os.close(lock)


@pytest.mark.parametrize("function", ["open", "flock"])
def test_a_sweep_that_removes_the_directory_just_before_it_is_locked_does_no_harm(
    directory, monkeypatch, function
):
    module = {"open": run_directories.os, "flock": run_directories.fcntl}[function]
    usual = getattr(module, function)

    def swept(*given):
        monkeypatch.setattr(module, function, usual)
        directory.remove()
        return usual(*given)

    directory.scratch.mkdir(parents=True)
    monkeypatch.setattr(directory.__class__, "is_abandoned", lambda _: True)
    monkeypatch.setattr(module, function, swept)
    lock = directory.take()
    monkeypatch.undo()

    assert directory.scratch.is_dir()
    assert os.fstat(lock).st_nlink == 1
    os.close(lock)


def test_while_a_directory_is_swept_no_run_can_take_it(directory, monkeypatch):
    os.close(directory.take())
    usual, found = directory.__class__.remove, []

    def removed(self):
        found.append(self.is_abandoned())
        usual(self)

    monkeypatch.setattr(directory.__class__, "remove", removed)
    run_directories.sweep()

    assert found == [False]
    assert run_directories.directories() == []


def test_ending_a_run_that_is_gone_removes_its_folder(directory):
    os.close(directory.take())

    run_directories.end([state()])

    assert not run_directories.root().exists()


def test_a_folder_is_removed_though_a_killed_process_writes_into_it_meanwhile(directory, monkeypatch):
    os.close(directory.take())
    rmdir, written = os.rmdir, []

    def late(path, **options):
        if not written:
            written.append((directory.path / "late").write_text("bytecode"))
        rmdir(path, **options)

    monkeypatch.setattr(os, "rmdir", late)
    directory.remove()

    assert written
    assert not directory.path.exists()


def test_the_folder_of_all_runs_is_closed_to_others(directory):
    os.close(directory.take())

    assert run_directories.root().stat().st_mode & 0o077 == 0


def test_another_users_folder_is_refused(directory, monkeypatch):
    run_directories.root().mkdir()
    monkeypatch.setattr(run_directories.os, "getuid", lambda: -1)

    with pytest.raises(LocalRunError, match="belongs to another user"):
        directory.take()
