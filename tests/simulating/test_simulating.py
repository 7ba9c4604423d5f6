"""What all simulators are run by, with a small one that breaks its promise where a test wants it to."""

from __future__ import annotations

import logging
from collections import Counter

import pytest

from tests.simulating import kills, mutants, run
from tests.simulating.mutants import Mutant, first_kill, kill
from tests.simulating.room import Outcome, Room, played
from tests.simulating.violation import Violation, require

LOG = logging.getLogger("fanin.tracker")


class Rules:
    """What the small simulator holds to."""

    kept = True
    idle = True


def simulate(seed, lines=None):
    """One request a seed; every fifth seed notices a rule that is broken."""
    if lines is not None:
        lines.append(f"request of {seed}")
    violation = played(lambda: require(Rules.kept or seed % 5, "S1", f"broken in {seed}"))
    return Outcome(violation, requests=Counter(get=1), faults=Counter(lost=2), events=Counter(runs=1))


def race(seed, lines=None):
    """Seed 3 alone notices."""
    return Outcome(played(lambda: require(Rules.kept or seed != 3, "S2", "a race was lost")))


PLAIN = Room("tests.simulating", simulate)
ROOM = Room("tests.simulating", simulate, race)
BROKEN = Mutant("the rule", (Rules, "kept", False))
IDLE = Mutant("the idle rule", (Rules, "idle", False))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_many_seeds_are_run_and_counted(capsys, jobs):
    assert run.drive(PLAIN, ["--seeds", "250", "--from", "7", "--jobs", jobs]) == 0
    shown = capsys.readouterr().out
    assert "seeds 7 to 256 in" in shown
    assert "requests: 250 (get 250)\nfaults: 500 (lost 500)\nseen: 250 (runs 250)\nviolations: 0\n" in shown


def test_a_broken_promise_is_reported_with_the_command_that_shows_its_requests(capsys):
    with BROKEN.alive():
        assert run.drive(PLAIN, ["--seeds", "6", "--jobs", "1"]) == 1
        shown = capsys.readouterr().out
        assert run.drive(PLAIN, ["--replay", "5", "--trace"]) == 1
    replayed = capsys.readouterr().out

    assert "seed 5: S1: broken in 5\n  python -m tests.simulating.run --replay 5 --trace\n" in shown
    assert "violations: 2 (S1 2)" in shown
    assert replayed.startswith("request of 5\nseed 5: S1: broken in 5; faults: 2 (lost 2)")


def test_no_more_than_the_first_broken_promises_are_shown_and_all_are_counted(capsys):
    with BROKEN.alive():
        run.drive(PLAIN, ["--seeds", "1000", "--jobs", "1"])
    shown = capsys.readouterr().out

    assert shown.count("--replay") == run.SHOWN_VIOLATIONS
    assert "violations: 200 (S1 200)" in shown


def test_races_are_run_where_a_room_has_them(capsys):
    with BROKEN.alive():
        assert run.drive(ROOM, ["--races", "--seeds", "5", "--jobs", "1"]) == 1
    assert "python -m tests.simulating.run --races --replay 3 --trace" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run.drive(PLAIN, ["--races"])


def test_a_mutant_is_noticed_by_a_seed_or_by_its_race_from_its_first_one_on():
    late = Mutant("the rule", (Rules, "kept", False), since=1)

    assert first_kill(PLAIN, BROKEN, 10).seed == 0
    assert (first_kill(ROOM, late, 10).seed, first_kill(ROOM, late, 10).races) == (3, True)
    assert first_kill(PLAIN, late, 4) is None
    assert Rules.kept


def test_a_known_seed_is_run_first_and_others_where_it_no_longer_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "TESTS", tmp_path)
    (tmp_path / "simulating").mkdir()

    assert kill(PLAIN, BROKEN, 10).seed == 0
    kills.write(PLAIN, {"the rule": 5})
    assert kill(PLAIN, BROKEN, 10).seed == 5
    kills.write(PLAIN, {"the rule": 6})
    assert kill(PLAIN, BROKEN, 10).seed == 0
    assert kill(PLAIN, IDLE, 10) is None


def test_the_seeds_that_tell_are_kept_where_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "TESTS", tmp_path)
    (tmp_path / "simulating").mkdir()
    kills.write(PLAIN, {"another rule": 7})
    mutants.drive(PLAIN, [BROKEN, IDLE], [], ["--seeds", "9"])
    assert kills.known_seeds(PLAIN) == {"another rule": 7}

    mutants.drive(PLAIN, [BROKEN, IDLE], [], ["--seeds", "9", "--write"])
    assert kills.known_seeds(PLAIN) == {"another rule": 7, "the rule": 0}


def test_rules_whose_loss_goes_unnoticed_fail_the_run(capsys):
    assert mutants.drive(PLAIN, [BROKEN], [(IDLE, "no reason")], ["--seeds", "9"]) == 0
    assert "1 of 1 killed; alive: []; not equivalent: []" in capsys.readouterr().out
    assert mutants.drive(PLAIN, [BROKEN, IDLE], [], ["--seeds", "9"]) == 1
    assert "alive: ['the idle rule']" in capsys.readouterr().out
    assert mutants.drive(PLAIN, [IDLE, BROKEN], [], ["--rule", "the rule"]) == 0


def test_an_equivalent_rule_whose_loss_is_noticed_fails_the_run(capsys):
    assert mutants.drive(PLAIN, [], [(BROKEN, "so it was thought")], []) == 1
    assert "not equivalent: ['the rule']" in capsys.readouterr().out


def test_code_that_outlives_exceptions_does_not_outlive_a_broken_promise():
    def sweep():
        try:
            require(False, "S1", lambda: "worked out")
        except Exception:
            return

    assert str(played(sweep)) == "S1: worked out"


def test_an_exception_of_the_code_is_a_broken_promise():
    found = played(lambda: int("x"))

    assert isinstance(found, Violation)
    assert found.invariant == "error"


def test_faults_on_purpose_are_not_logged_and_others_are_again_afterwards(caplog):
    assert played(lambda: LOG.error("lost before")) is None
    LOG.error("in earnest")

    assert caplog.messages == ["in earnest"]
