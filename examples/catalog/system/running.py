"""The catalog's stack on the local run: synthesised for it, kept for the next time, and deployed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanin.local import LocalRun
from fanin.local.deploying.assembly import kept_assembly, synthesise
from fanin.local.deployment_source import ORIGIN, Origin
from fanin_cdk.packaging.node import choose_node

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("examples/catalog/app.py", "examples/catalog/functions/*.py")
CONSUMERS = 4
"""Concurrent invocations for one queue; each is a process on this machine."""


def started(
    *, progress: Callable[[str], None] = lambda _: None, dynamodb: str | None = None, **settings: Any
) -> LocalRun:
    """Return a local run of the stack with *settings* of the tracker; a context manager that ends it."""
    given = {"stage": "local", "consumer_concurrency": CONSUMERS, **settings}
    return LocalRun.start(template_dir=assembled(given, progress), progress=progress, dynamodb=dynamodb)


def assembled(settings: dict[str, Any], progress: Callable[[str], None]) -> Path:
    """Return the folder of the stack's cloud assembly."""
    context = {"fanin:target": "local", "settings": settings}
    paths, sources = (ROOT / "shared", ROOT), (*ORIGIN.sources, *SOURCES)
    origin = Origin(ROOT, "examples.catalog.app", paths, sources, ROOT / "build" / "local")
    if kept := kept_assembly(origin, context):
        return kept
    choose_node(os.environ)
    progress("synthesising the deployment (half a minute; kept for the next time)")
    return synthesise(origin, context)
