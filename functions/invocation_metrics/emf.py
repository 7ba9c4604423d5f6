"""Metrics as lines of the embedded metric format (EMF), which CloudWatch reads from the log.

Powertools writes the same lines, but its import takes a tenth of the CPU of a consumer's cold start.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping

VALUES_MAX = 100
"""Values of a metric in one line, and metrics in one line."""
COUNT = "Count"
SECONDS = "Seconds"


class Metrics:
    """The metrics of *namespace* until the next flush, with *dimensions* and the function's ``service``.

    ``properties``: further fields of each line, which are no dimensions.
    """

    def __init__(self, namespace: str, **dimensions: str) -> None:
        self._namespace = namespace
        self._dimensions = dimensions
        self.properties: Mapping[str, str] = {}
        self._values: dict[str, list[float]] = {}
        self._units: dict[str, str] = {}
        self._lock = threading.RLock()  # batches of one request complete in several threads

    def add(self, name: str, value: float, unit: str = COUNT) -> None:
        """Add a value; a line that is full is written."""
        with self._lock:
            values = self._values.setdefault(name, [])
            values.append(float(value))
            self._units[name] = unit
            if VALUES_MAX in (len(values), len(self._values)):
                self.flush()

    def flush(self) -> None:
        """Write the line of the values since the last flush, if there are any and metrics are on."""
        with self._lock:
            if self._values and os.environ.get("POWERTOOLS_METRICS_DISABLED") != "true":
                sys.stdout.write(json.dumps(self._line(time.time_ns() // 1_000_000)) + "\n")
            self._values, self._units = {}, {}

    def _line(self, now_ms: int) -> dict[str, object]:
        service = os.environ.get("POWERTOOLS_SERVICE_NAME")
        dimensions = self._dimensions | ({"service": service} if service else {})
        described = {
            "Namespace": self._namespace,
            "Dimensions": [list(dimensions)],
            "Metrics": [{"Name": name, "Unit": unit} for name, unit in self._units.items()],
        }
        about = {"Timestamp": now_ms, "CloudWatchMetrics": [described]}
        return {"_aws": about, **dimensions, **self.properties, **self._values}
