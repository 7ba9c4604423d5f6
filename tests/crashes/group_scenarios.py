from __future__ import annotations

from tests.crashes.scenario import Scenario

GROUPS: list[Scenario] = []
