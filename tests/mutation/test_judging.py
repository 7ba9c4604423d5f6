"""Mutants of the rules of trees, judged by their tests as ``make mutation`` does it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.mutation.rooms import ROOT

RULES = r"tracker/rules/(page|tree)\.py:(Page\.|PageMasks|stretches|capacity)"
"""Rules without a loop that a mutant could make endless."""


def test_the_tests_of_pages_and_trees_notice_mutants(tmp_path):
    chosen = ["--room", "tracker", "--only", RULES, "--sample", "20", "--build", str(tmp_path)]
    tests = ["--near", "--tests", "tests/tracker/test_page_and_tree.py"]
    command = [sys.executable, "-m", "tests.mutation", *chosen, *tests]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}

    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert re.search(r"tracker: 20 of 20 mutants, [12]\d killed", printed.stdout), (
        printed.stdout + printed.stderr
    )
