"""The rooms whose code is changed, and the tests that have to notice."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("tests/contract/test_newer_rows.py", "tests/mutation/seeds.py")
ROOMS = {
    "tracker": (
        *("tests/tracker", "tests/contract/tracker", *SHARED, "tests/api", "tests/functions/test_sweep.py"),
        *("tests/functions/test_consume_acks.py", "tests/client/test_publisher.py"),
    ),
    "grouper": (
        *("tests/grouper", "tests/contract/grouper", *SHARED, "tests/api/test_group_routes.py"),
        *("tests/api/test_task_lists.py", "tests/functions/test_grouping.py"),
    ),
    "queue": (
        *("tests/queue", "tests/contract/queue", *SHARED, "tests/api/test_job_routes.py"),
        *("tests/api/test_queue_routes.py", "tests/api/test_queue_admin_routes.py"),
        *("tests/functions/test_sweep_jobs.py", "tests/functions/test_publish_dead_jobs.py"),
    ),
}
"""The tests of each capability, by the name of its room."""


def files_of(room: str) -> list[str]:
    """Return the modules of a room, by path from the root."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "shared/fanin" / room).rglob("*.py"))
