"""The script of the Glue job: publishes yesterday's partition of the table; run again, it resumes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

ROWS_A_MESSAGE = 64


def options(argv: Sequence[str], today: date) -> list[str]:
    """Return the arguments of the job ``fan_out`` for the partition of the day before *today*.

    Glue passes parameters of its own, which are ignored.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--lake", "--api-url", "--queue-url", "--region"):
        parser.add_argument(name, required=True)
    given, _ = parser.parse_known_args(argv)
    night = today - timedelta(days=1)
    return [
        *("--dataset", f"{given.lake}/catalog/dt={night}/"),
        # The manifest of a night makes a second run send what the first did not.
        *("--manifest", f"{given.lake}/fanin/{night}"),
        *("--user-key", f"catalog-{night}"),
        *("--api-url", given.api_url, "--queue-url", given.queue_url, "--region", given.region),
        *("--chunk", str(ROWS_A_MESSAGE)),
    ]


if __name__ == "__main__":
    from pipeline.jobs.fan_out import main

    main(options(sys.argv[1:], datetime.now(UTC).date()))
