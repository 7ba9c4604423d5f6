"""The rooms, and who may enter them: every import of the tree is read, and the rest are refused."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("shared/fanin", "functions", "infra", "pipeline")
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
# What is no part of the package is read in one sitting too.
BESIDE = [path for room in ("tests", "benchmarks") for path in sorted((ROOT / room).rglob("*.py"))]

# room: what of the project it may import, beside itself. The longest prefix that fits is the room.
DOORS: dict[str, set[str]] = {
    "fanin": {"fanin.client", "fanin.tracker", "fanin.queue", "fanin.errors", "fanin.aws"},
    "fanin.errors": set(),
    "fanin.calling": {"fanin.errors"},
    "fanin.aws": {"fanin.errors"},
    "fanin.tracker": {"fanin.errors", "fanin.calling", "fanin.aws"},
    "fanin.grouper": {"fanin.errors", "fanin.calling", "fanin.aws"},
    "fanin.queue": {"fanin.errors", "fanin.calling", "fanin.aws"},
    "fanin.archive": {"fanin.errors", "fanin.aws"},
    "fanin.api": {"fanin.errors", "fanin.tracker", "fanin.grouper", "fanin.queue", "fanin.aws"},
    "fanin.client": {"fanin.errors", "fanin.calling", "fanin.tracker", "fanin.queue", "fanin.aws"},
    "fanin.local": {"fanin.errors", "fanin.aws", "fanin.client", "fanin.tracker"},
    "fanin.cli": {"fanin.errors", "fanin.client", "fanin.local"},
    "functions": {"fanin"},
    "infra": set(),
    # The pipeline: entry -> jobs -> a room for each job -> snapshot -> spark. Two job
    # rooms import fan_out: reconcile reads its manifests and sends its messages, history reads its manifests.
    "pipeline": {"pipeline.jobs"},
    "pipeline.jobs": {
        "pipeline.fan_out",
        "pipeline.bulk_ack",
        "pipeline.reconcile",
        "pipeline.audit",
        "pipeline.history",
        "pipeline.snapshot",
        "pipeline.spark",
        "fanin.Fanin",
        "fanin.errors",
        "fanin.tracker",
    },
    "pipeline.fan_out": {"pipeline.spark", "fanin.tracker"},
    "pipeline.bulk_ack": {
        "pipeline.snapshot",
        "pipeline.spark",
        "fanin.tracker",
        "fanin.aws",
        "fanin.errors",
    },
    "pipeline.reconcile": {"pipeline.fan_out", "pipeline.snapshot", "pipeline.spark", "fanin.tracker"},
    "pipeline.audit": {"pipeline.snapshot", "pipeline.spark", "fanin.tracker"},
    "pipeline.history": {
        "pipeline.fan_out",
        "pipeline.snapshot",
        "pipeline.spark",
        "fanin.errors",
        "fanin.tracker",
        "fanin.grouper",
        "fanin.queue",
    },
    "pipeline.datasource": {"pipeline.bulk_ack", "pipeline.snapshot", "pipeline.spark", "fanin.tracker"},
    "pipeline.snapshot": {"pipeline.spark", "fanin.tracker", "fanin.aws", "fanin.errors"},
    "pipeline.spark": {"fanin.errors", "fanin.tracker"},
    "pipeline.demo": {"pipeline.jobs", "pipeline.spark", "fanin"},
}
# a library: the rooms that it lives in.
HOMES: dict[str, set[str]] = {
    "boto3": {"fanin.aws", "fanin.local", "pipeline"},
    "aws_lambda_powertools": {"functions", "fanin.api"},
    "pydantic": {"fanin.api"},
    "aws_cdk": {"infra"},
    "pyspark": {"pipeline"},
    "ministack": {"fanin.local"},
    "moto": {"fanin.local"},
    "typer": {"fanin.cli"},
}
# within a capability: pure rules <- service <- stores.
PURE = (
    "fanin.tracker.ids",
    "fanin.tracker.page",
    "fanin.tracker.tree",
    "fanin.tracker.model",
    "fanin.tracker.acking",
    "fanin.archive.changes",
    "fanin.grouper.ids",
    "fanin.grouper.model",
    "fanin.grouper.policy",
    "fanin.grouper.rules",
    "fanin.grouper.rate",
    "fanin.grouper.order",
    "fanin.grouper.messages",
    "fanin.grouper.downstream",
    "fanin.grouper.notices",
    "fanin.grouper.parsing",
)
EFFECTS = {
    "boto3",
    "botocore",
    "time",
    "random",
    "os",
    "logging",
    "socket",
    "threading",
    "urllib3",
    "requests",
}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "shared" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def room_of(module: str) -> str | None:
    fitting = [room for room in DOORS if module == room or module.startswith(room + ".")]
    return max(fitting, key=len) if fitting else None


def is_in(module: str, rooms: set[str]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_every_import_goes_through_a_door(path):
    room = room_of(module_of(path))
    for imported in imports_of(path):
        target = room_of(imported)
        allowed = target is None or target == room or is_in(imported, DOORS[room])

        assert allowed, f"{module_of(path)} may not import {imported}: see DOORS"


def test_the_rooms_of_the_pipeline_import_each_other_in_no_circle():
    left = {room: is_pipeline(doors) for room, doors in DOORS.items() if is_pipeline({room})}
    while leaves := {room for room, doors in left.items() if not doors & left.keys()}:
        left = {room: doors for room, doors in left.items() if room not in leaves}

    assert not left


def is_pipeline(rooms: set[str]) -> set[str]:
    return {room for room in rooms if room.split(".")[0] == "pipeline"}


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_every_library_stays_at_home(path):
    for imported in imports_of(path):
        homes = HOMES.get(imported.split(".")[0])

        assert homes is None or is_in(module_of(path), homes), (
            f"{module_of(path)} may not import {imported}: see HOMES"
        )


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_the_package_is_never_loaded_under_a_second_name(path):
    assert not any(name.split(".")[0] == "shared" for name in imports_of(path))


@pytest.mark.parametrize("module", PURE)
def test_pure_rules_know_no_clock_no_network_and_no_chance(module):
    path = ROOT / "shared" / Path(*module.split(".")).with_suffix(".py")
    top = {name.split(".")[0] for name in imports_of(path)}

    assert not top & EFFECTS
    assert top <= set(sys.stdlib_module_names) | {"fanin"}


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_functions_are_short(path):
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 30
    ]

    assert not long


@pytest.mark.parametrize("path", SOURCES + BESIDE, ids=module_of)
def test_files_are_read_in_one_sitting_and_named_after_what_is_in_them(path):
    assert path.read_text().count("\n") <= 400
    assert path.stem not in {"utils", "helpers", "manager", "common"}
