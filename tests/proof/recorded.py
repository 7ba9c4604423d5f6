"""The stage ``histories``: 50,000 recorded histories, each with an order or a violation."""

from __future__ import annotations

from functools import partial

from tests.histories.run import judge
from tests.proof.work import Chunk, Done, Part
from tests.simulating.run import run_seeds

STAGE = "histories"
SHARES = {"tracker": (30_000, 500), "grouper": (15_000, 500), "queue": (5_000, 100)}
"""Histories of 50,000, and how many are checked in one go."""


def parts(total: int) -> list[Part]:
    """Return a part for each capability, of *total* histories in all."""
    whole = sum(share for share, _ in SHARES.values())
    return [_part(of, share * total // whole, chunk) for of, (share, chunk) in SHARES.items()]


def _part(of: str, seeds: int, chunk: int) -> Part:
    chunks = (
        Chunk(f"{first}+{min(chunk, seeds - first)}", partial(run, of, first, min(chunk, seeds - first)))
        for first in range(0, seeds, chunk)
    )
    return Part(STAGE, of, f"tests.histories.{of}", f"histories of seeds 0 to {seeds - 1:,}", tuple(chunks))


def run(of: str, first: int, seeds: int) -> Done:
    """Record some histories, and check them."""
    tally = run_seeds(partial(judge, of), range(first, first + seeds))
    command = f"python -m tests.histories.run --of {of}"
    violations = [f"seed {seed}: {text}\n  {command} --replay {seed}" for seed, _, text in tally.violations]
    return Done(tally.seeds, tally.requests.total(), tally.faults.total(), violations=violations)
