"""The table of generated mutants is kept whole, under the command that writes it."""

from __future__ import annotations

from argparse import Namespace

import pytest

from tests.mutation import __main__ as command
from tests.mutation.results import Score
from tests.proof import results


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)


def publish(judged: int, sample: int = 0) -> results.Result | None:
    score = Score("queue", 1, judged, judged, 0, 0, 0)
    command._publish([(score, score)], Namespace(sample=sample))
    return results.kept("generated-mutants")


def test_a_clone_that_has_judged_nothing_keeps_no_table(capsys):
    assert publish(0) is None
    assert "no judged mutant" in capsys.readouterr().out


def test_the_table_names_its_sample():
    assert publish(5).command == "make mutation"
    assert publish(5, sample=300).command == 'make mutation ARGS="--sample 300"'


def test_a_pattern_that_fits_no_mutant_is_refused():
    with pytest.raises(SystemExit, match="no mutant fits"):
        command.main(["--room", "tracker", "--file", "nosuch", "--kept"])
