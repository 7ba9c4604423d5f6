"""Runs many seeds of the seams, or replays one: ``python -m tests.simulation_seams.run --seeds 100000``."""

from __future__ import annotations

import sys

from tests.simulating.room import Room
from tests.simulating.run import drive
from tests.simulation_seams.simulation import simulate

ROOM = Room("tests.simulation_seams", simulate)

if __name__ == "__main__":
    sys.exit(drive(ROOM))
