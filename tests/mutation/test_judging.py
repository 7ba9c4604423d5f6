"""Mutants of the rules of trees, judged by their tests as ``make mutation`` does it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.mutation.rooms import ROOT

SLICE = (
    "--room",
    "tracker",
    "--file",
    "tracker/tree.py",
    "--sample",
    "20",
    "--tests",
    "tests/tracker/test_page_and_tree.py",
    "--near",
)


def test_the_tests_of_pages_and_trees_notice_mutants(tmp_path):
    command = [sys.executable, "-m", "tests.mutation", *SLICE, "--build", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}

    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert re.search(r"tracker: 20 of 20 mutants, [12]\d killed", printed.stdout), (
        printed.stdout + printed.stderr
    )
