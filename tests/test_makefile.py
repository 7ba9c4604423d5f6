"""``make help`` lists every target."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_help_lists_every_target():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()

    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert sorted(re.findall(r"^make (\S+) +\S", printed, re.MULTILINE)) == sorted(targets)


def test_an_unknown_target_is_named_with_the_way_to_the_list():
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ended = subprocess.run(
        ["make", "dmeo"], cwd=ROOT, env=outside, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("there is no target 'dmeo'; make help lists them\n")


def test_a_python_that_is_too_old_is_named_with_its_version(tmp_path):
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\ncase $2 in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac\n")
    old.chmod(0o755)

    ended = subprocess.run(
        ["sh", ".ci/prerequisites", old], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"missing: Python 3.11 or newer; {old} is 3.9.2 (make PYTHON=...")
