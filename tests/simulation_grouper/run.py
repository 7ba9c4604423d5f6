"""Runs many seeds of the grouper, or replays one: ``python -m tests.simulation_grouper.run --seeds 1000``."""

from __future__ import annotations

import sys

from tests.simulating.room import Room
from tests.simulating.run import drive
from tests.simulation_grouper.simulation import simulate

ROOM = Room("tests.simulation_grouper", simulate)

if __name__ == "__main__":
    sys.exit(drive(ROOM))
