from __future__ import annotations

from tests.crashes.scenario import Scenario

JOBS: list[Scenario] = []
