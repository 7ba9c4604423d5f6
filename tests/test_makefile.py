"""``make help`` names every target that somebody may ask for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_help_tells_of_every_target():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()

    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert sorted(re.findall(r"^make (\S+) +\S", told, re.MULTILINE)) == sorted(targets)
