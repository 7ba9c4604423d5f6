"""What all simulators are run by, with a small one that breaks its promise where a test wants it to."""

from __future__ import annotations

from collections import Counter

from tests.simulating import mutants, run
from tests.simulating.mutants import Mutant
from tests.simulating.room import Outcome, Room, played
from tests.simulating.violation import require


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


PLAIN = Room("tests.simulating", simulate)
BROKEN = Mutant("the rule", (Rules, "kept", False))
IDLE = Mutant("the idle rule", (Rules, "idle", False))


def test_a_broken_promise_is_reported_with_the_command_that_shows_its_requests(capsys):
    with BROKEN.alive():
        assert run.drive(PLAIN, ["--seeds", "6", "--jobs", "1"]) == 1
        shown = capsys.readouterr().out
        assert run.drive(PLAIN, ["--replay", "5", "--trace"]) == 1
    replayed = capsys.readouterr().out

    assert "seed 5: S1: broken in 5\n  python -m tests.simulating.run --replay 5 --trace\n" in shown
    assert "violations: 2 (S1 2)" in shown
    assert replayed.startswith("request of 5\nseed 5: S1: broken in 5; faults: 2 (lost 2)")


def test_rules_whose_loss_goes_unnoticed_fail_the_run(capsys):
    assert mutants.drive(PLAIN, [BROKEN], [(IDLE, "no reason")], ["--seeds", "9"]) == 0
    assert "1 of 1 killed; alive: []; not equivalent: []" in capsys.readouterr().out
    assert mutants.drive(PLAIN, [BROKEN, IDLE], [], ["--seeds", "9"]) == 1
    assert "alive: ['the idle rule']" in capsys.readouterr().out
    assert mutants.drive(PLAIN, [IDLE, BROKEN], [], ["--rule", "the rule"]) == 0


def test_code_that_outlives_exceptions_does_not_outlive_a_broken_promise():
    def sweep():
        try:
            require(False, "S1", lambda: "worked out")
        except Exception:
            return

    assert str(played(sweep)) == "S1: worked out"
