"""``make proof``: chunks are run once, kept, and run again when their code has changed."""

from __future__ import annotations

import json
import time
from functools import partial
from math import inf

import pytest

from tests.proof import __main__ as driver
from tests.proof import broken_rules, explored, fingerprint, journal, recorded, results, simulators, table
from tests.proof.interrupting import ended
from tests.proof.journal import Journal
from tests.proof.pool import results as run_chunks
from tests.proof.work import Chunk, Done, Part, evenly
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


def test_a_run_of_one_stage_keeps_the_rows_of_the_others_in_its_section(stages, monkeypatch):
    of_stages = {"seeds": part(), "races": part("races", "r", stage="races"), "histories": part("h", "h")}
    monkeypatch.setattr(driver, "STAGES", {name: lambda _, one=one: [one] for name, one in of_stages.items()})
    driver.main(["--jobs", "1", "--only", "seeds"])
    driver.main(["--jobs", "1", "--only", "races"])

    assert [row[0] for row in results.kept("simulators").rows] == [
        "small: seeds 0 to 29",
        "races: seeds 0 to 29",
    ]
    assert results.kept("histories") is None


def test_half_a_line_of_a_killed_run_is_run_again():
    first = Journal(part(), "1")
    for chunk in part().chunks[:2]:
        first.keep(chunk, Done(10))
    first.path.write_text(first.path.read_text()[:-9])

    second = Journal(part(), "1")
    assert list(second.done) == ["a"]
    second.keep(part().chunks[1], Done(10))
    assert [json.loads(line)["key"] for line in second.path.read_text().splitlines()] == ["a", "b"]


def test_parts_get_on_alike():
    order = [chunk.key for _, chunk in evenly([(part(keys="abcd"), {"b"}), (part("other", "xy"), set())])]

    assert order == ["x", "a", "y", "c", "d"]


def test_processes_do_the_same_as_one():
    found = {chunk.key: done for _, chunk, done in run_chunks(evenly([(part(), set())]), 2, inf)}

    assert {key: (done.runs, done.violations) for key, done in found.items()} == dict.fromkeys(
        "abc", (10, [])
    )
    assert not list(run_chunks(evenly([(part(), set())]), 2, time.monotonic()))


def test_the_page_says_what_was_not_run():
    half = Journal(part(keys="abcd"), "1")
    half.keep(half.part.chunks[0], Done(10, cpu=7000.0))

    table.keep_all([half], "make proof")

    kept = results.kept("simulators")
    assert kept.note == "Run so far: small 25 %."
    assert kept.rows[0][5] == "1 h 57 min"


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


def test_fifty_thousand_histories_are_each_checked_once(monkeypatch):
    whole = recorded.parts(driver.HISTORIES)
    spans = [tuple(map(int, chunk.key.split("+"))) for each in whole for chunk in each.chunks]
    monkeypatch.setattr(recorded, "judge", lambda of, seed: Outcome(Violation("linearizable", "no order")))

    assert sum(size for _, size in spans) == 50_000
    assert recorded.run("queue", 7, 1).violations == [
        "seed 7: linearizable: no order\n  python -m tests.histories.run --of queue --replay 7"
    ]


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


def test_the_table_names_the_command_that_writes_it_again(stages):
    stages(part())

    driver.main(["--jobs", "1"])
    assert results.kept("simulators").command == "make proof"
    driver.main(["--jobs", "1", "--seeds", "1000"])
    assert results.kept("simulators").command == 'make proof ARGS="--seeds 1000"'


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["_run", "_journals"])
def test_an_interrupted_run_ends_at_once_and_keeps_its_chunks_and_the_table_of_before(
    stages, monkeypatch, capsys, place
):
    stages(part())
    driver.main(["--jobs", "1", "--time", "0"])
    Journal(part(), "print of run").keep(part().chunks[0], Done(10))
    driver.main(["--jobs", "1", "--time", "0"])
    before = results.kept("simulators")
    with monkeypatch.context() as patched:
        patched.setattr(driver, place, interrupted)
        assert driver.main(["--jobs", "1"]) == 130

    assert "interrupted; the same command goes on from here" in capsys.readouterr().out
    assert results.kept("simulators") == before
    driver.main(["--jobs", "1"])
    assert RAN == ["b", "c"]


def test_chunks_of_a_run_of_another_size_are_not_counted(stages):
    stages(part(keys="abcd"))
    driver.main(["--jobs", "1"])
    stages(part(keys="cxyz"))
    driver.main(["--jobs", "1", "--time", "0"])

    assert results.kept("simulators").rows[0][1] == "10"
    assert results.kept("simulators").note == "Run so far: small 25 %."
    stages(part(keys="xyz"))
    driver.main(["--jobs", "1", "--time", "0"])
    assert results.kept("simulators").rows[0][1] == "10"


@pytest.mark.parametrize("time", ["-1", "nan", "soon"])
def test_a_time_that_is_none_is_refused(time, capsys):
    with pytest.raises(SystemExit, match="2"):
        driver.main([f"--time={time}"])
    assert f"{time!r} is not a number of minutes from 0 on" in capsys.readouterr().err


def test_a_command_that_is_interrupted_ends_with_a_line(capsys):
    with pytest.raises(SystemExit, match="130"):
        ended(interrupted)
    assert capsys.readouterr().err == "interrupted; nothing was kept\n"
    with pytest.raises(SystemExit, match="1"):
        ended(lambda: 1)


def test_fewer_seeds_than_each_simulator_gets_one_of_are_refused(capsys):
    assert all(each.chunks for each in [*simulators.parts(driver.LEAST), *recorded.parts(driver.LEAST)])
    with pytest.raises(SystemExit, match="2"):
        driver.main(["--seeds", str(driver.LEAST - 1)])
    assert "'199' is not a whole number from 200 on" in capsys.readouterr().err
