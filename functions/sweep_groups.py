"""The schedule: wake the tasks and bundles that nobody works on."""

from typing import Any

from functions import grouping
from functions.measuring import count, measured


@measured
def handler(_event: dict[str, Any], _context: Any) -> None:
    swept = grouping.grouper().sweep()
    count(LanesWoken=swept.lanes, BundlesWoken=swept.bundles)
