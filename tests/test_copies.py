"""Every error and every public value of the package can be copied and pickled, as a process pool does it."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass
from multiprocessing import get_context

import pytest

import fanin
from fanin import QuotaExceeded
from fanin.testing import FakeFanin

PUBLIC = ("fanin", "fanin.tracker", "fanin.queue", "fanin.grouper", "fanin.testing")
STATEFUL = {"Queue", "AsyncQueue", "Tracker", "Grouper", "MemoryStore", "Jobs"}
"""Public classes that do work, and are no values."""
COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "copy": copy.copy, "deep": copy.deepcopy}  # noqa: S301  # its own


def error_kinds() -> list[type[Exception]]:
    """The errors that any module of the package defines."""
    names = [each.name for each in pkgutil.walk_packages(fanin.__path__, "fanin.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    found = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    own = [kind for kind in found if issubclass(kind, Exception) and kind.__module__.startswith("fanin.")]
    return sorted(own, key=lambda kind: (kind.__module__, kind.__name__))


def value_kinds() -> list[type]:
    packages = [importlib.import_module(name) for name in PUBLIC]
    public = {getattr(package, name) for package in packages for name in package.__all__}
    kinds = {kind for kind in public if inspect.isclass(kind) and is_dataclass(kind)}
    return sorted((kind for kind in kinds if kind.__name__ not in STATEFUL), key=lambda kind: kind.__name__)


def error_of(kind: type[Exception]) -> Exception:
    """Return an error with a text for each argument."""
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    texts = ["the text" for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    named = {each.name: f"the {each.name}" for each in parameters if each.kind is each.KEYWORD_ONLY}
    error = kind(*(texts or ["the text"]), **named)
    error.add_note("a note")
    return error


def test_the_errors_and_values_are_found():
    assert len(error_kinds()) > 30
    assert len(value_kinds()) > 50


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_an_error_says_the_same(way):
    for error in map(error_of, error_kinds()):
        again = COPIES[way](error)

        facts = (type(again), again.args, str(again), vars(again))
        assert facts == (type(error), error.args, str(error), vars(error))


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_a_value_is_equal(way):
    for kind in value_kinds():
        value = object.__new__(kind)
        for field in fields(kind):
            object.__setattr__(value, field.name, f"the {field.name}")
        again = COPIES[way](value)

        assert type(again) is kind
        assert [getattr(again, each.name) for each in fields(kind)] == [
            f"the {each.name}" for each in fields(kind)
        ]


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_what_a_client_returns_is_equal(way):
    fake = FakeFanin()
    with fake.open("load", labels={"team": "search"}) as batch:
        items = batch.add(5)
    answers = [items, items[1:3], fake.fail(items[:1], "no"), batch.closed, batch.status(), batch.map()]
    answers += [batch.samples(), *batch.failures(), *fake.batches(), batch.cancel("enough")]

    for answer in answers:
        assert COPIES[way](answer) == answer


def exceeded() -> None:
    raise QuotaExceeded("too many", quota="adds", limit=1, used=2, retry_after=3)


def test_an_error_of_a_pool_s_process_arrives():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(QuotaExceeded) as error,
    ):
        pool.submit(exceeded).result(60)

    assert (error.value.quota, error.value.retry_after) == ("adds", 3)
