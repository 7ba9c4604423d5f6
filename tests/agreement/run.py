"""Runs many sequences, or replays one: ``python -m tests.agreement.run --seeds 10000``."""

from __future__ import annotations

import sys

from tests.agreement.agreement import simulate
from tests.simulating.room import Room
from tests.simulating.run import drive

ROOM = Room("tests.agreement", simulate)

if __name__ == "__main__":
    sys.exit(drive(ROOM))
