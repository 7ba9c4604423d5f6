"""A few seeds of each simulator, as the last tests that can notice a mutant; pytest does not collect them."""

from __future__ import annotations

from importlib import import_module

import pytest

SIMULATORS = {"simulation": 16, "simulation_grouper": 16, "simulation_seams": 6, "simulation_queue": 6}
"""The seeds of each simulator."""


@pytest.mark.parametrize(
    ("simulator", "seed"), [(name, seed) for name, seeds in SIMULATORS.items() for seed in range(seeds)]
)
def test_no_promise_breaks(simulator, seed):
    room = import_module(f"tests.{simulator}.run").ROOM

    assert room.simulate(seed).violation is None
    assert not room.race or room.race(seed).violation is None
