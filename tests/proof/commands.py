"""The stages ``races`` and ``examples``: commands that take minutes, run as they are."""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import partial

from tests.proof.results import ROOT
from tests.proof.work import Chunk, Done, Part

RACES, EXAMPLES = "races", "examples"
COMMANDS = {
    RACES: ("lab.local.races", "1,000 rounds of each race over HTTP", ["-m", "lab.local.races"]),
    EXAMPLES: (
        "functions.openapi",
        "tests marked proof, properties with 2,000 examples",
        ["-m", "pytest", "-q", "-n", "2", "-m", "proof or hypothesis", "--hypothesis-profile=proof"],
    ),
}


def parts(stage: str) -> list[Part]:
    """Return the one part of the stage."""
    module, span, arguments = COMMANDS[stage]
    return [Part(stage, stage, module, span, (Chunk(stage, partial(run, arguments)),))]


def run(arguments: list[str]) -> Done:
    """Run a command of Python, whose output is shown; it is a violation that it fails."""
    before = _cpu()
    ended = subprocess.run([sys.executable, *arguments], cwd=ROOT, check=False)
    failed = [f"python {' '.join(arguments)} exited with {ended.returncode}"] if ended.returncode else []
    return Done(1, cpu=_cpu() - before, violations=failed)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
