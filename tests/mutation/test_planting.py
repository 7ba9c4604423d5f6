"""A mutant changes the module that is imported: its functions, defaults, constants and fields."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from tests.mutation.mutants import mutants_of
from tests.mutation.planting import Garden
from tests.mutation.reach import Probes

SOURCE = """
from dataclasses import dataclass

LIMIT = 3
DOUBLE = 2 * LIMIT


def fits(size, spare=1):
    if size < DOUBLE + spare:
        return True
    return False


@dataclass(frozen=True)
class Box:
    width: int
    height: int = 5

    @property
    def area(self):
        return self.width * self.height
"""


@pytest.fixture
def sample(tmp_path):
    """The module, imported from a file of this test."""
    path = tmp_path / "planted.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(f"planted_{tmp_path.name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize(
    ("owner", "operator", "shows"),
    [
        ("fits", "compare", lambda module: module.fits(7)),
        ("fits", "constant-1", lambda module: not module.fits(6)),
        ("LIMIT", "constant+1", lambda module: module.DOUBLE == 8 and module.fits(8)),
        ("Box.height", "constant+1", lambda module: module.Box(1).area == 6),
        ("Box.area", "compute", lambda module: module.Box(11).area == 2),
    ],
)
def test_a_mutant_is_planted_where_it_is_used(sample, tmp_path, owner, operator, shows):
    (mutant, *_) = [
        each
        for each in mutants_of(SOURCE, "planted.py")
        if (each.spot.owner, each.operator) == (owner, operator)
    ]
    assert not shows(sample)

    Garden(tmp_path, ("",)).plant(mutant)

    assert shows(sample)


def test_probes_take_down_the_lines_that_run(sample, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutation.reach.ROOT", tmp_path)
    probes = Probes()
    probes.plant(Garden(tmp_path, ("",)), ["planted.py"])

    assert sample.fits(1)
    assert probes.taken() == {"planted.py::fits": [1, 2]}
    assert not sample.fits(9)
    assert probes.taken() == {"planted.py::fits": [1, 3]}
    assert probes.taken() == {}
