from __future__ import annotations

import os

import pytest

from fanin.local import LocalRunError, run_directories
from fanin.local.run_directories import State

PORT = 1


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(run_directories, "root", lambda: tmp_path / "runs")
    return run_directories.home_of(PORT)


def state(**changed) -> State:
    known = {"port": PORT, "url": "http://u", "endpoint": "http://e", "outputs": {"A": "1"}}
    return State(**{**known, "pid": 1, "host": 2, "command": True, **changed})


def test_a_state_is_read_as_it_was_written(home):
    os.close(home.take())

    home.write(state())

    assert home.read() == state()


def test_a_run_that_wrote_no_state_yet_has_none(home):
    os.close(home.take())

    assert home.read() is None


def test_a_folder_is_abandoned_once_nobody_holds_its_lock(home):
    lock = home.take()

    assert not home.is_abandoned()
    os.close(lock)
    assert home.is_abandoned()


def test_a_held_folder_cannot_be_taken(home):
    lock = home.take()

    with pytest.raises(LocalRunError, match="another local run"):
        home.take()
    os.close(lock)


def test_what_a_crash_left_is_cleared_by_the_next_run_on_its_port(home):
    os.close(home.take())
    (home.scratch / "left").touch()

    os.close(home.take())

    assert not list(home.scratch.iterdir())


def test_a_sweep_takes_the_abandoned_and_spares_the_held(home):
    os.close(run_directories.home_of(2).take())
    lock = home.take()

    run_directories.sweep()

    assert run_directories.homes() == [home]
    os.close(lock)


def test_ending_a_run_that_is_gone_removes_its_folder(home):
    os.close(home.take())

    run_directories.end([state()])

    assert not run_directories.root().exists()


def test_the_folder_of_all_runs_is_closed_to_others(home):
    os.close(home.take())

    assert run_directories.root().stat().st_mode & 0o077 == 0


def test_somebody_elses_folder_is_refused(home, monkeypatch):
    run_directories.root().mkdir()
    monkeypatch.setattr(run_directories.os, "getuid", lambda: -1)

    with pytest.raises(LocalRunError, match="belongs to somebody else"):
        home.take()
