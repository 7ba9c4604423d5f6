"""A process of a function: what a start builds is dropped, and clocks, ids and pauses are the test's."""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from fanin.grouper.world import World as GroupWorld
from fanin.queue.effects import Effects
from fanin.tracker import Tracker
from fanin.tracker.reads.reading import Reader
from tests.api.gateway import SERVED
from tests.crashes.naming import CONSUMER, module_of

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
FRESH = "f7e5"
"""How each id that a process draws begins, so that two runs can be compared without them."""
CLOCKED = (
    "fanin.tracker.reads.reading",
    "fanin.grouper.world",
    "fanin.callbacks.delivering",
    "functions.sweep_jobs",
)
TIMED = (
    *("fanin.queue.effects", module_of(CONSUMER), "functions.invocation_metrics.emf"),
    "fanin.client.ack_logs",
)
KEPT = frozenset({"dynamodb"})
"""Its client keeps nothing but connections, and counts with a meter that stays attached."""
DEFAULTS = (Reader, Tracker, Effects, GroupWorld)


@dataclass
class Clock:
    """The time of all processes, which only the test moves."""

    at: datetime = START
    drawn: int = 0

    def time(self) -> float:
        return self.at.timestamp()

    def time_ns(self) -> int:
        return round(self.at.timestamp() * 1_000_000) * 1000

    def pass_by(self, duration: timedelta) -> None:
        self.at += duration

    def draw(self, count: int) -> bytes:
        """Return bytes that no process was given before."""
        self.drawn += 1
        return (bytes.fromhex(FRESH * 3) + self.drawn.to_bytes(max(count - 6, 1), "big"))[:count]


def forget() -> None:
    """Drop all that the wiring built: the next invocation is the first of a new process."""
    for name, module in list(sys.modules.items()):
        if not name.startswith(("functions", "examples.catalog.functions")):
            continue
        for held in _caches(module):
            held.cache_clear()
    random.seed(0)


@cache
def _caches(module: ModuleType) -> list[Any]:
    return [
        value
        for held, value in vars(module).items()
        if held not in KEPT and callable(getattr(value, "cache_clear", None))
    ]


@contextmanager
def twin(handler: str) -> Iterator[None]:
    """Let the handler be imported anew: of two processes each has its own objects of the module.

    So has the function of the API that calls the handler by its route.
    """
    name = module_of(handler)
    package, _, short = name.rpartition(".")
    module = _twin(name)
    with patch.dict(sys.modules, {name: module}), patch.object(sys.modules[package], short, module):
        calling = {f"functions.{function}" for function, served in SERVED.values() if served == handler}
        with patch.dict(sys.modules, {each: _twin(each, handler) for each in calling}):
            yield


@cache
def _twin(name: str, handler: str = "") -> ModuleType:  # *handler*: the one whose twin it imports
    spec = importlib.util.spec_from_file_location(f"{name}__twin", importlib.import_module(name).__file__)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def under(clock: Clock) -> Iterator[None]:
    """Let each process of the block have the time of *clock*, ids that are drawn from it, and no pauses."""

    class Now(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return clock.at.astimezone(tz)

    timer = SimpleNamespace(
        time=clock.time, time_ns=clock.time_ns, monotonic=clock.time, sleep=lambda _: None
    )
    swaps: dict[Any, Any] = {os.urandom: clock.draw, time.monotonic: clock.time, time.sleep: _no_pause}
    modules = [importlib.import_module(name) for name in (*CLOCKED, *TIMED)]
    patches = [patch.object(module, "datetime", Now) for module in modules[: len(CLOCKED)]]
    patches += [patch.object(module, "time", timer) for module in modules[len(CLOCKED) :]]
    patches += [
        patch.object(time, "sleep", _no_pause),
        patch.object(uuid.os, "urandom", clock.draw),  # type: ignore[attr-defined]
        patch("fanin.pacing.ThreadPoolExecutor", InTurn),
        patch("fanin.grouper.batch_api_calls.http.answered_within", _at_once),
        patch("fanin.grouper.batch_api_calls.invoking.answered_within", _at_once),
        patch("fanin.callbacks.http.answered_within", _at_once),
    ]
    patches += [
        patch.object(default.__init__, "__defaults__", _swapped(default, swaps)) for default in DEFAULTS
    ]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in reversed(patches):
            each.stop()


def _no_pause(_seconds: float) -> None:
    """Return at once: a pause has no effect but to wait."""


def _at_once(_seconds: float, call: Callable[[], Any]) -> Any:
    return call()


def _swapped(type_: type, swaps: dict[Any, Any]) -> tuple[Any, ...]:
    """Return the defaults of a class's ``__init__`` with the effects of the test."""
    given = type_.__init__.__defaults__ or ()  # type: ignore[misc]
    return tuple(swaps.get(each, each) if callable(each) else each for each in given)


class InTurn:
    """A pool of threads that runs each call where it is submitted, in their order."""

    def __init__(self, _threads: int) -> None:
        """Nothing is started."""

    def __enter__(self) -> InTurn:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left."""

    def map(self, call: Callable[[Any], Any], values: Any) -> Iterator[Any]:
        return map(call, values)
