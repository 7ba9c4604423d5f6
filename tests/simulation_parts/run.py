"""Runs many seeds of a raise, or replays one: ``python -m tests.simulation_parts.run --seeds 20000``."""

from __future__ import annotations

import sys

from tests.simulating.room import Room
from tests.simulating.run import drive
from tests.simulation_parts.simulation import simulate

ROOM = Room("tests.simulation_parts", simulate)

if __name__ == "__main__":
    sys.exit(drive(ROOM))
