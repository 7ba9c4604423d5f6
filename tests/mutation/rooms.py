"""The rooms whose code is changed, and the tests that have to notice."""

from __future__ import annotations

from dataclasses import dataclass
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
LATER = {
    "tracker": (
        *("tests/simulation/test_exhaustive.py", "tests/histories/test_recorded.py"),
        *("tests/client/test_children.py", "tests/client/test_items.py", "tests/client/test_failed.py"),
    ),
    "grouper": (
        *("tests/simulation_grouper/test_simulation.py", "tests/client/test_tasks.py"),
        "tests/functions/test_resume_task.py",
    ),
    "queue": (
        *("tests/simulation_queue/test_simulation.py", "tests/histories/test_recorded.py"),
        *(
            "tests/client/test_queues.py",
            "tests/client/test_queue_contract.py",
            "tests/client/test_failed.py",
        ),
    ),
}
"""Slower tests, which run only for the mutants that no test of their room noticed."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Tests that judge mutants. *longest*: CPU seconds of a test, longer ones judge none; *seconds*: of all
    tests that one mutant must survive, the quickest first, as a line may have thousands.
    """

    tests: tuple[str, ...]
    longest: float
    seconds: float


def stages_of(room: str) -> list[Stage]:
    """Return what judges the mutants of a room, each stage the survivors of the one before."""
    return [Stage(ROOMS[room], 3.0, 20.0), Stage(LATER[room], 15.0, 60.0)]


def files_of(room: str) -> list[str]:
    """Return the modules of a room, by path from the root."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "shared/fanin" / room).rglob("*.py"))
