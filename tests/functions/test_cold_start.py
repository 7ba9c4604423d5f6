"""What a consumer imports, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSUMERS = (
    "archive_changes",
    "consume_acks",
    "fail_letters",
    "describe_event",
    "confirm_event",
    "sweep",
    "consume_tasks",
    "lead_tasks",
    "handle_bundle",
    "sweep_groups",
    "sweep_jobs",
    "demo_worker",
)
HEAVY = ("pydantic", "aws_lambda_powertools.event_handler")


def _loaded(handler: str, modules: tuple[str, ...]) -> str:
    """Those of *modules* that a process has loaded once it has imported the handler."""
    program = f"import sys, functions.{handler}; print([name for name in {modules!r} if name in sys.modules])"
    search = {"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    return subprocess.check_output([sys.executable, "-c", program], env=search, text=True).strip()


@pytest.mark.parametrize("name", CONSUMERS)
def test_no_consumer_imports_the_http_edge(name: str) -> None:
    assert _loaded(name, HEAVY) == "[]"


def test_the_http_edge_imports_both() -> None:
    assert _loaded("open_batch", HEAVY) == str(list(HEAVY))
