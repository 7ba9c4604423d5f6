"""Runs many seeds of the tracker, or replays one: ``python -m tests.simulation.run --seeds 100000``."""

from __future__ import annotations

import sys

from tests.simulating.room import Room
from tests.simulating.run import drive
from tests.simulation.simulation import race, simulate

ROOM = Room("tests.simulation", simulate, race)

if __name__ == "__main__":
    sys.exit(drive(ROOM))
