"""The kernel reads nothing beyond its input, and writes nothing beyond its output, whatever the bytes are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from signal import SIGSEGV

import pytest

from tests.pipeline.compiled_fold import guarded_memory

ROOT = Path(__file__).parents[3]


def run(kernel, *arguments: int) -> subprocess.CompletedProcess[str]:
    folder = Path(kernel._name).parent
    command = [sys.executable, "-m", guarded_memory.__name__, str(folder), *map(str, arguments)]
    environment = {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("seeds", [120, pytest.param(10_000, marks=pytest.mark.proof)])
def test_the_kernel_uses_no_memory_beyond_damaged_pages_and_what_it_writes_of_them(kernel, seeds):
    ended = run(kernel, seeds)

    seed, *last = ended.stdout.split("\n")[-3:]
    assert ended.returncode != -SIGSEGV, f"memory beyond the input or the output was used, seed {last[0]}"
    assert ended.returncode == 0, ended.stderr
    assert (int(seed), int(last[0].removesuffix(" rows")) > seeds) == (seeds - 1, True)


def test_a_read_beyond_guarded_memory_ends_the_process(kernel):
    assert run(kernel, 0, 4).returncode == -SIGSEGV
