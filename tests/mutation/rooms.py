"""The rooms whose code is changed, and the tests that have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Room:
    """A capability. *tests*: its own fast tests; *beyond*: tests of others, for what survives the first."""

    name: str
    tests: tuple[str, ...]
    beyond: tuple[str, ...] = ()

    @property
    def sources(self) -> str:
        """The folder of its code."""
        return f"shared/fanin/{self.name}"

    def files(self) -> list[str]:
        """Return the modules of the room, by path from the root."""
        return sorted(str(path.relative_to(ROOT)) for path in (ROOT / self.sources).rglob("*.py"))


SHARED = (
    "tests/contract/test_newer_rows.py",
    "tests/mutation/seeds.py",
)


def _in(folder: str, *names: str) -> list[str]:
    return [f"tests/{folder}/test_{name}.py" for name in names]


ROOMS = {
    room.name: room
    for room in (
        Room(
            "tracker",
            ("tests/tracker", "tests/contract/tracker", *SHARED),
            (
                *_in("client", "fanin", "parts", "chunks", "publisher", "tasks", "states"),
                *_in(
                    "api",
                    "routes",
                    "lifecycle_routes",
                    "tokens",
                    "repair_routes",
                    "cursors",
                    "events",
                ),
                *_in("functions", "sweep", "consume_acks"),
            ),
        ),
        Room(
            "grouper",
            ("tests/grouper", "tests/contract/grouper", *SHARED),
            (*_in("api", "group_routes", "task_lists"), *_in("functions", "grouping")),
        ),
        Room(
            "queue",
            ("tests/queue", "tests/contract/queue", *SHARED),
            (
                *_in("client", "queues", "queue_contract"),
                *_in("api", "job_routes", "queue_routes", "queue_admin_routes"),
                *_in("functions", "sweep_jobs", "publish_dead_jobs"),
            ),
        ),
    )
}
