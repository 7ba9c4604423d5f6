"""Prints docs/cost.md: ``make cost``."""

from __future__ import annotations

import sys

from lab.cost.counting import OPTIONS, RESULTS_TOGETHER, TOGETHER, count
from lab.cost.page import written

if __name__ == "__main__":
    sys.stdout.write(written(count(TOGETHER, RESULTS_TOGETHER, OPTIONS)))
