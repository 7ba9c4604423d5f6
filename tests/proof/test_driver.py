"""``make proof``: chunks are run once, kept, and run again when their code has changed."""

from __future__ import annotations

from functools import partial

import pytest

from tests.proof import __main__ as driver
from tests.proof import broken_rules, explored, fingerprint, journal, results, simulators
from tests.proof.journal import Journal
from tests.proof.work import Chunk, Done, Part
from tests.simulating.room import Outcome, Room
from tests.simulating.violation import Violation

RAN: list[str] = []


def work(name: str, violations: tuple[str, ...] = ()) -> Done:
    RAN.append(name)
    return Done(10, 200, 3, violations=list(violations))


def part(name="small", keys="abc", broken="", stage="seeds"):
    found = {key: ("it broke\n  replay it",) if key in broken else () for key in keys}
    chunks = tuple(Chunk(key, partial(work, key, found[key])) for key in keys)
    return Part(stage, name, "tests.simulating.run", "seeds 0 to 29", chunks)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    RAN.clear()
    monkeypatch.setattr(journal, "FOLDER", tmp_path / "done")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(driver, "fingerprint_of", lambda module: f"print of {module[-3:]}")


@pytest.fixture
def stages(monkeypatch):
    def one_of(*parts):
        monkeypatch.setattr(driver, "STAGES", {"seeds": lambda _: list(parts)})

    return one_of


def test_a_chunk_is_run_once_and_its_result_is_kept(stages, capsys):
    stages(part())

    assert driver.main(["--jobs", "1"]) == driver.main(["--jobs", "1"]) == 0

    assert RAN == ["a", "b", "c"]
    assert "seeds  small: seeds 0 to 29  30    600       9       0" in capsys.readouterr().out
    assert results.kept("simulators").rows[0][:4] == ["small: seeds 0 to 29", "30", "600", "9"]


def test_a_run_stops_when_its_time_is_over_and_the_next_one_goes_on(stages):
    stages(part())

    driver.main(["--jobs", "1", "--time", "0"])
    assert RAN == []
    Journal(part(), "print of run").keep(part().chunks[1], Done(10))
    driver.main(["--jobs", "1"])
    assert RAN == ["a", "c"]


def test_what_changed_code_did_does_not_count(stages, monkeypatch):
    stages(part())
    driver.main(["--jobs", "1"])

    monkeypatch.setattr(driver, "fingerprint_of", lambda module: "another")
    driver.main(["--jobs", "1"])

    assert RAN == ["a", "b", "c"] * 2


def test_a_violation_is_printed_each_time_and_fails_the_run(stages, capsys):
    stages(part(broken="b"))

    for _ in range(2):
        assert driver.main(["--jobs", "1"]) == 1
        assert "it broke\n  replay it\n" in capsys.readouterr().out
    assert RAN == ["a", "b", "c"]
    assert results.kept("simulators").rows[0][4] == "1"


def test_a_million_seeds_are_each_run_once():
    whole = simulators.parts(driver.SEEDS)
    spans = [[tuple(map(int, chunk.key.split("+"))) for chunk in each.chunks] for each in whole]

    assert sum(size for chunks in spans for _, size in chunks) == 1_000_000
    for chunks in spans:
        assert [first for first, _ in chunks[1:]] == [first + size for first, size in chunks[:-1]]


def test_a_seed_that_breaks_a_promise_is_reported_with_its_replay(monkeypatch):
    def simulate(seed, lines=None):
        return Outcome(Violation("S1", "broken") if seed == 7 else None)

    monkeypatch.setattr("tests.simulation.run.ROOM", Room("tests.simulation", simulate, simulate))
    done = simulators.run("tests.simulation.run", True, 5, 10)

    assert done.runs == 10
    assert done.violations == [
        "seed 7: S1: broken\n  python -m tests.simulation.run --races --replay 7 --trace"
    ]


def test_every_mutant_is_a_chunk_and_one_that_lives_is_a_violation(monkeypatch):
    whole = broken_rules.parts()
    one = whole[0].chunks[0]

    assert len(whole) >= 9
    assert len({chunk.key for chunk in whole[0].chunks}) == len(whole[0].chunks)
    assert one.work().violations == []
    monkeypatch.setattr(broken_rules, "kill", lambda *_: None)
    assert "no seed of 2000 finds it\n  python -m tests.simulation.mutants" in one.work().violations[0]


def test_every_scenario_is_explored_with_two_disturbances():
    whole = explored.parts()
    done = explored.run("tests.simulation.exhaustive", "nothing to do", depth=1)

    assert [len(each.chunks) > 3 for each in whole] == [True] * 4
    assert explored.DEPTH == 2
    assert (done.violations, done.runs > 30, done.faults > 10) == ([], True, True)


def test_a_comment_changes_no_fingerprint_and_code_does(tmp_path):
    file = tmp_path / "a.py"

    def digest(text):
        file.write_text(text)
        return fingerprint.digest([file], tmp_path)

    plain = digest('"""One."""\n\n\ndef f():\n    return 1\n')
    assert plain == digest('"""Two."""\ndef f():\n    """Three."""\n    return 1  # four\n')
    assert plain != digest('"""One."""\n\n\ndef f():\n    return 2\n')


def test_a_fingerprint_covers_what_a_simulator_imports_and_no_other_room():
    files = {
        str(path.relative_to(results.ROOT)) for path in fingerprint.files_of("tests.simulation_grouper.run")
    }

    assert {"shared/fanin/grouper/work/leading.py", "tests/simulation_grouper/referee.py"} <= files
    assert not [file for file in files if "/queue/" in file or "/tracker/" in file or "test_" in file]
