"""The rooms, and who may enter them: every import of the tree is read, and the rest are refused."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fanin.tracker.rules.options import OPTIONS, Option

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "shared/fanin",
    "shared/fanin_cdk",
    "shared/fanin_conformance",
    "functions",
    "infra",
    "pipeline",
    "examples/catalog",
)
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
# What is no part of the package is read in one sitting too.
BESIDE = [path for room in ("tests", "lab", "website") for path in sorted((ROOT / room).rglob("*.py"))]

LEAVES = {
    *("fanin.errors", "fanin.names", "fanin.pacing", "fanin.user_functions", "fanin.isolating"),
    *("fanin.arguments", "fanin.instants", "fanin.item_ids", "fanin.index_order"),
    *("fanin.result_texts", "fanin.settings", "fanin.types"),
}
"""Import nothing of the project but errors, so that any room may import them."""
# room: what of the project it may import, beside itself. The longest prefix that fits is the room.
DOORS: dict[str, set[str]] = {
    "fanin": {*LEAVES, "fanin.client", "fanin.publishing", "fanin.tracker", "fanin.queue", "fanin.aws"},
    "fanin.errors": set(),
    "fanin.names": set(),
    "fanin.pacing": set(),
    "fanin.user_functions": {"fanin.errors"},
    "fanin.isolating": {"fanin.errors"},
    "fanin.instants": set(),
    "fanin.arguments": {"fanin.errors"},
    "fanin.item_ids": {"fanin.errors"},
    "fanin.index_order": set(),
    "fanin.result_texts": {"fanin.errors"},
    "fanin.settings": {"fanin.arguments", "fanin.errors", "fanin.names"},
    "fanin.types": {"fanin.arguments"},
    "fanin.cost": set(),
    "fanin.history_report": {"fanin.errors"},
    "fanin.aws": {*LEAVES},
    "fanin.tracker": {*LEAVES, "fanin.aws", "fanin.cost"},
    "fanin.item_results": {*LEAVES, "fanin.aws", "fanin.tracker"},
    "fanin.grouper": {*LEAVES, "fanin.aws"},
    "fanin.callbacks": {*LEAVES, "fanin.aws", "fanin.grouper"},
    "fanin.queue": {*LEAVES, "fanin.aws"},
    "fanin.change_archive": {*LEAVES, "fanin.aws"},
    "fanin.quotas": {*LEAVES, "fanin.aws"},
    "fanin.completion_events": {*LEAVES, "fanin.tracker", "fanin.aws"},
    "fanin.api": {
        *LEAVES,
        "fanin.completion_events",
        "fanin.aws",
        "fanin.grouper",
        "fanin.item_results",
        "fanin.s3_publications",
        "fanin.publishing.message_groups",
        "fanin.queue",
        "fanin.tracker",
    },
    "fanin.client": {
        *LEAVES,
        "fanin.completion_events",
        "fanin.aws",
        "fanin.item_results",
        "fanin.queue",
        "fanin.tracker",
    },
    "fanin.publishing": {*LEAVES, "fanin.aws", "fanin.client", "fanin.cost", "fanin.tracker"},
    "fanin.dead_letter_queue_redrive": {
        *LEAVES,
        "fanin.aws",
        "fanin.client",
        "fanin.publishing.packing",
        "fanin.tracker",
    },
    "fanin.s3_publications": {
        *LEAVES,
        "fanin.aws",
        "fanin.client.items",
        "fanin.client.tracing",
        "fanin.grouper.settings",
        "fanin.publishing",
        "fanin.tracker",
    },
    "fanin.testing": {
        *LEAVES,
        "fanin.client",
        "fanin.item_results",
        "fanin.tracker",
        "fanin.queue",
        "fanin.api.bus_events.ending_events",
        "fanin.aws",
        "fanin.publishing.items",
    },
    "fanin_conformance": {*LEAVES, "fanin.aws", "fanin.cli.arguments.where", "fanin.client"},
    "fanin.dashboard": {*LEAVES, "fanin.aws", "fanin.client"},
    "fanin.local": {
        *LEAVES,
        "fanin.aws",
        "fanin.client",
        "fanin.cost",
        "fanin.tracker",
        "fanin_cdk.settings.config",
    },
    "fanin.cli": {
        *LEAVES,
        "fanin.Fanin",
        "fanin.aws",
        "fanin.client",
        "fanin.cost",
        "fanin.dashboard",
        "fanin.dead_letter_queue_redrive",
        "fanin.local",
        "fanin.publishing",
        "fanin.history_report",
        "fanin.tracker",
    },
    "functions": {"fanin"},
    # Settings are checked at synthesis by what reads them in the functions.
    "fanin_cdk": {
        *("fanin.errors", "fanin.names", "fanin.completion_events.metrics", "fanin.settings.settings_file"),
        *("fanin.callbacks.model", "fanin.callbacks.parsing", "fanin.grouper.settings.endpoints"),
        *("fanin.grouper.settings.targeting", "fanin.grouper.settings.parsing"),
        "fanin.grouper.settings.policy",
        *("fanin.s3_publications.allowing", "fanin.s3_publications.parsing"),
    },
    # The project's own stack, the first user of the constructs.
    "infra": {"fanin.names", "fanin_cdk", "pipeline.compiled_fold"},
    # The pipeline: entry -> jobs -> a room for each job -> snapshot, local -> spark. Two job
    # rooms import fan_out: reconcile reads its manifests and sends its messages, history reads its manifests.
    "pipeline": {"pipeline.jobs", "pipeline.shared_by_jobs"},
    "pipeline.jobs": {
        *LEAVES,
        "pipeline.fan_out",
        "pipeline.bulk_ack",
        "pipeline.reconcile",
        "pipeline.table_audit",
        "pipeline.history_tables",
        "pipeline.engine_without_spark",
        "pipeline.table_frames",
        "pipeline.shared_by_jobs",
        "fanin.Fanin",
        "fanin.cost",
        "fanin.publishing",
        "fanin.tracker",
    },
    "pipeline.fan_out": {
        *LEAVES,
        "fanin.aws",
        "fanin.client.tracing",
        "pipeline.engine_without_spark",
        "pipeline.shared_by_jobs",
        "fanin.cost",
        "fanin.publishing",
        "fanin.tracker",
    },
    "pipeline.bulk_ack": {
        *LEAVES,
        "pipeline.engine_without_spark",
        "pipeline.compiled_fold",
        "pipeline.table_changes",
        "pipeline.table_frames",
        "pipeline.shared_by_jobs",
        "fanin.cost",
        "fanin.tracker",
        "fanin.aws",
    },
    "pipeline.reconcile": {
        *LEAVES,
        "pipeline.fan_out",
        "pipeline.engine_without_spark",
        "pipeline.table_frames",
        "pipeline.shared_by_jobs",
        "fanin.client.tracing",
        "fanin.cost",
        "fanin.publishing",
        "fanin.tracker",
    },
    "pipeline.table_audit": {*LEAVES, "pipeline.table_frames", "pipeline.shared_by_jobs", "fanin.tracker"},
    "pipeline.history_tables": {
        *LEAVES,
        "pipeline.fan_out",
        "pipeline.table_changes",
        "pipeline.table_frames",
        "pipeline.shared_by_jobs",
        "fanin.tracker",
        "fanin.grouper",
        "fanin.queue",
    },
    "pipeline.datasource": {
        *LEAVES,
        "fanin.aws",
        "fanin.item_results",
        "pipeline.bulk_ack",
        "pipeline.table_frames",
        "pipeline.shared_by_jobs",
        "fanin.tracker",
    },
    "pipeline.table_changes": {*LEAVES, "pipeline.shared_by_jobs", "fanin.tracker"},
    "pipeline.table_frames": {*LEAVES, "pipeline.shared_by_jobs", "fanin.tracker", "fanin.aws"},
    "pipeline.engine_without_spark": {*LEAVES, "pipeline.shared_by_jobs"},
    "pipeline.compiled_fold": {"pipeline.shared_by_jobs"},
    "pipeline.shared_by_jobs": {*LEAVES, "fanin.tracker"},
    # The demo, a user's app: no other room imports it.
    "examples.catalog": {
        "pipeline.fan_out",
        "pipeline.jobs",
        "pipeline.shared_by_jobs",
        "fanin",
        "fanin_cdk",
    },
}
# a library: the rooms that import it.
IMPORTERS: dict[str, set[str]] = {
    "boto3": {"fanin.aws", "fanin.local", "pipeline", "examples.catalog"},
    "aws_lambda_powertools": {"functions", "fanin.api"},
    "pydantic": {"fanin.api"},
    "aws_cdk": {"fanin_cdk", "infra", "examples.catalog"},
    "pyspark": {"pipeline", "examples.catalog"},
    "pyarrow": {"fanin.publishing.row_sources", "fanin.history_report", "pipeline"},
    "matplotlib": {"fanin.history_report", "examples.catalog"},
    "jinja2": {"fanin.history_report"},
    "greenlet": {"fanin.client.aio"},
    "h11": {"fanin.client.aio"},
    "ministack": {"fanin.local"},
    "opentelemetry": {"fanin.client.tracing"},
    "moto": {"fanin.local"},
    "rich": {"fanin.cli", "examples.catalog"},
    "typer": {"fanin.cli"},
}
# Within a capability: rules <- services <- adapters. All that is neither a rule nor an adapter is a service.
RULES = {
    "fanin.tracker": {"rules", "events"},
    "fanin.grouper": {"rules", "settings"},
    "fanin.callbacks": {"model", "parsing"},
    "fanin.queue": {"rules"},
    "fanin.change_archive": {"changes"},
    "fanin.quotas": {"bucket", "model"},
}
ADAPTERS = {"dynamodb", "eventbridge", "http", "invoking", "memory", "s3", "secrets", "sqs"}
REQUESTS = {"items", "lookups", "requests"}
"""In ``dynamodb/``: requests and rows as plain data, so these are rules too."""
EFFECTS = {
    *("boto3", "botocore", "time", "random", "os", "logging", "socket", "threading", "urllib3"),
    "requests",
}


ROOM_FILES_MAX = 12
OPTION_FILES_MAX = 6
TABLE = ROOT / "shared" / "fanin" / "tracker" / "rules" / "options.py"
TYPES = ROOT / "shared" / "fanin" / "client" / "argument_checks" / "opening.py"
OLDER_OPTIONS = {
    *("user_key", "mode", "expected_items", "max_failures", "parent_item_id"),
    *("labels", "callback", "retention", "deadline", "task_token"),
}
"""Options of a batch that were there before the table of them."""
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What holds statements, or is one."""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "shared" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def statements_of(path: Path) -> list[ast.AST]:
    """All statements of the file, nested ones too: an import or a function is in no expression."""
    found: list[ast.AST] = [ast.parse(path.read_text())]
    for node in found:
        found += [each for each in ast.iter_child_nodes(node) if isinstance(each, BLOCKS)]
    return found


@cache
def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in statements_of(path):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


@cache
def room_of(module: str) -> str | None:
    fitting = [room for room in DOORS if module == room or module.startswith(room + ".")]
    return max(fitting, key=len) if fitting else None


def is_in(module: str, rooms: set[str]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def test_every_import_goes_through_a_door():
    assert not [
        f"{module_of(path)} may not import {imported}: see DOORS"
        for path in SOURCES
        for imported in imports_of(path)
        if not is_door(room_of(module_of(path)), imported)
    ]


def is_door(room: str | None, imported: str) -> bool:
    target = room_of(imported)
    return target is None or target == room or is_in(imported, DOORS[room])


def test_a_room_has_at_most_twelve_files():
    page = (ROOT / "shared/fanin/dashboard/page").rglob("*.*")
    files = Counter(path.parent.relative_to(ROOT).as_posix() for path in [*SOURCES, *page])
    del files["functions"]  # a handler a file

    assert {room: count for room, count in files.items() if count > ROOM_FILES_MAX} == {}


def test_the_rooms_of_the_pipeline_import_each_other_in_no_circle():
    remaining = {room: is_pipeline(doors) for room, doors in DOORS.items() if is_pipeline({room})}
    while leaves := {room for room, doors in remaining.items() if not doors & remaining.keys()}:
        remaining = {room: doors for room, doors in remaining.items() if room not in leaves}

    assert not remaining


def is_pipeline(rooms: set[str]) -> set[str]:
    return {room for room in rooms if room.split(".")[0] == "pipeline"}


def test_no_module_imports_itself_by_way_of_others():
    """Imports for types alone count, too: who reads one file of a circle has to read them all."""
    modules = {module_of(path): path for path in SOURCES}
    remaining = {
        module: {named(each, modules) for each in imports_of(path)} for module, path in modules.items()
    }
    while leaves := {
        module for module, imported in remaining.items() if not imported & remaining.keys() - {module}
    }:
        remaining = {module: imported for module, imported in remaining.items() if module not in leaves}

    assert not remaining


def named(imported: str, modules: dict[str, Path]) -> str:
    """The module that an import names: itself, or what it takes a name from."""
    return imported if imported in modules else imported.rpartition(".")[0]


def test_every_library_stays_in_its_rooms():
    assert not [
        f"{module_of(path)} may not import {imported}: see IMPORTERS"
        for path in SOURCES
        for imported in imports_of(path)
        if not may_import_library(imported, module_of(path))
    ]


def may_import_library(imported: str, module: str) -> bool:
    importers = IMPORTERS.get(imported.split(".", maxsplit=1)[0])
    return importers is None or is_in(module, importers)


def test_the_package_is_never_loaded_under_a_second_name():
    assert not [path for path in SOURCES if any(name.split(".")[0] == "shared" for name in imports_of(path))]


def inside(path: Path) -> tuple[str, list[str]]:
    """The capability that the module belongs to, and the module's name within it, by its dots."""
    module = module_of(path)
    capability = next((each for each in RULES if module.startswith(each + ".")), "")
    return capability, module.removeprefix(capability + ".").split(".") if capability else []


def is_rule(path: Path) -> bool:
    capability, name = inside(path)
    return bool(name) and (name[0] in RULES[capability] or (name[0] == "dynamodb" and name[-1] in REQUESTS))


def is_service(path: Path) -> bool:
    _, name = inside(path)
    return bool(name) and not is_rule(path) and not ADAPTERS & set(name)


def test_rules_import_nothing_that_has_effects():
    assert not [
        f"{module_of(path)} imports {imported}"
        for path in SOURCES
        if is_rule(path)
        for imported in imports_of(path)
        if not is_pure(imported, inside(path)[0])
    ]


def is_pure(imported: str, capability: str) -> bool:
    top, *below = imported.split(".")
    if imported.startswith(capability + "."):
        return below[1] in RULES[capability] | {"dynamodb", "store"}
    return top not in EFFECTS and (top in sys.stdlib_module_names or top == "fanin")


def test_services_import_their_port_and_no_adapter():
    assert not [
        f"{module_of(path)} imports {imported}"
        for path in SOURCES
        if is_service(path)
        for imported in imports_of(path)
        if imported.startswith(inside(path)[0] + ".") and ADAPTERS & set(imported.split("."))
    ]


@pytest.mark.parametrize("capability", RULES)
def test_every_rule_that_is_listed_is_there(capability):
    folder = ROOT / "shared" / Path(*capability.split("."))

    assert {path.stem for path in folder.iterdir()} >= RULES[capability]


def test_functions_are_short():
    assert not [
        f"{module_of(path)}.{node.name}: {node.end_lineno - node.lineno + 1}"
        for path in SOURCES
        for node in statements_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= 30
    ]


def test_files_are_read_in_one_sitting_and_named_after_what_is_in_them():
    assert not [path for path in SOURCES + BESIDE if path.read_text().count("\n") > 600]
    assert not [path for path in SOURCES + BESIDE if path.stem in {"utils", "helpers", "manager", "common"}]


def is_named(option: Option, path: Path) -> bool:
    """Whether a file names an option of a batch; ``results`` is the name of other things, too."""
    names = {option.name, option.attribute, option.field, (option.cli or (option.name,))[0].split()[0]}
    if option.name == "results":
        names = {r"batch\.results", r"self\.results" if path.parent == TABLE.parent else r"batch\.results"}
    return re.search(rf"(?<![\w-])({'|'.join(names)})(?![\w-])", path.read_text()) is not None


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - OLDER_OPTIONS))
def test_an_option_of_a_batch_is_named_in_at_most_six_files(name):
    product = [path for path in SOURCES if path.parent != ROOT / "functions" / "openapi"]
    scripts = (ROOT / "shared" / "fanin" / "dashboard").rglob("*.js")

    named = {path for path in (*product, *scripts) if is_named(OPTIONS[name], path)}

    assert len({TABLE, TYPES} | named) <= OPTION_FILES_MAX, sorted(map(str, named))
